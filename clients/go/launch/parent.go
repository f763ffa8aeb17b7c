package launch

import (
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

const (
	pauseMin = 100 * time.Millisecond // before a process that ended at once is started again
	pauseMax = 10 * time.Second       // doubled up to this
	atOnce   = 5 * time.Second        // a process that lived shorter has ended at once
	lastWord = 100 * time.Millisecond // in which what a process said before its end is read, while others have its pipe, too
	sameSign = 200 * time.Millisecond // in which a signal that comes twice is one: timeout(1) sends it to us, and to our group
)

// process is one that works, or is to.
type process struct {
	place   int // from 0 on
	cmd     *exec.Cmd
	life    io.Closer // the process ends when this is closed
	begun   time.Time
	ready   bool
	leaving bool     // it ends as it should
	stale   bool     // it is to be replaced
	before  *process // which ends when this one is ready; nil: none
}

func (p *process) String() string {
	return fmt.Sprintf("worker %d (pid %d)", p.place+1, p.cmd.Process.Pid)
}

// parent starts, watches and replaces processes. One goroutine runs what is in acts.
type parent struct {
	settings *settings
	args     []string
	program  string // the file
	acts     chan func()

	places []*process        // nil: one is started after a pause
	alive  map[*process]bool // those that leave, too
	pauses []time.Duration
	ending bool
	first  os.Signal // that ended it
	asked  time.Time // when
	worked bool      // a process has been ready
	status int
}

func newParent(s *settings, args []string) *parent {
	return &parent{settings: s, args: args, acts: make(chan func()), places: make([]*process, s.processes),
		pauses: make([]time.Duration, s.processes), alive: map[*process]bool{}}
}

func (p *parent) run() int {
	var err error
	if p.program, err = os.Executable(); err != nil {
		log.Printf("launch: %v", err)
		return 1
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if p.settings.dev {
		folder, err := os.MkdirTemp("", "launch")
		if err != nil {
			log.Printf("launch: %v", err)
			return 1
		}
		defer os.RemoveAll(folder)
		go watch(p.program, folder, func(file, program string) {
			p.acts <- func() {
				p.program = program
				p.replace(file + " has changed")
			}
		})
	}
	for place := range p.places {
		p.start(place, nil)
	}
	for !p.ending || len(p.alive) > 0 {
		select {
		case act := <-p.acts:
			act()
		case s := <-signals:
			if s == syscall.SIGHUP {
				p.replace("SIGHUP")
			} else {
				p.stop(s)
			}
		}
	}
	log.Print("launch: stopped")
	return p.status
}

// start starts a process in a place, before which another one leaves when it is ready.
func (p *parent) start(place int, before *process) {
	if p.ending {
		return
	}
	one := &process{place: place, before: before, begun: time.Now(), cmd: exec.Command(p.program, p.args...)}
	one.cmd.Env = append(os.Environ(), child+"=1")
	one.cmd.Stdout, one.cmd.Stderr = os.Stdout, os.Stderr
	said, theirs, err := os.Pipe()
	if err == nil {
		one.cmd.ExtraFiles = []*os.File{theirs}
		if one.life, err = one.cmd.StdinPipe(); err == nil {
			err = one.cmd.Start()
		}
		theirs.Close()
	}
	if err != nil {
		log.Printf("launch: worker %d: %v", place+1, err)
		if said != nil {
			said.Close()
		}
		p.later(place, before)
		return
	}
	p.places[place] = one
	p.alive[one] = true
	log.Printf("launch: %v started", one)
	read := make(chan struct{})
	go func() {
		lines(said, func(line string) { p.acts <- func() { p.heard(one, line) } })
		said.Close()
		close(read)
	}()
	go func() {
		err := one.cmd.Wait()
		said.SetReadDeadline(time.Now().Add(lastWord))
		<-read
		p.acts <- func() { p.ended(one, err) }
	}()
}

// later starts a process after a pause that grows.
func (p *parent) later(place int, before *process) {
	p.places[place] = nil
	pause := p.pauses[place] * 2
	if pause < pauseMin {
		pause = pauseMin
	} else if pause > pauseMax {
		pause = pauseMax
	}
	p.pauses[place] = pause
	log.Printf("launch: worker %d starts again in %v", place+1, pause)
	time.AfterFunc(pause, func() { p.acts <- func() { p.start(place, before) } })
}

// heard takes what a process says: it is ready, it cannot work, or it leaves by itself.
func (p *parent) heard(one *process, line string) {
	switch line {
	case "ready":
		log.Printf("launch: %v is ready", one)
		one.ready, p.worked = true, true
		if one.before != nil {
			p.leave(one.before)
		} else {
			p.renew() // which waited while this place was empty
		}
	case "cannot work":
		if !p.worked && !p.ending {
			log.Printf("launch: %v cannot work, so none is started again", one)
			p.status = 2
			p.stop(syscall.SIGTERM)
		}
	default:
		log.Printf("launch: %v %s", one, line)
		if one.leaving = true; p.places[one.place] == one {
			p.start(one.place, one.before)
		}
	}
}

// leave has a process end in good order.
func (p *parent) leave(one *process) {
	one.leaving = true
	one.cmd.Process.Signal(syscall.SIGTERM)
}

// ended starts another process in the place of one that ended by itself.
func (p *parent) ended(one *process, err error) {
	delete(p.alive, one)
	one.life.Close()
	how := "in good order"
	if err != nil {
		how = err.Error()
	}
	log.Printf("launch: %v ended: %s", one, how)
	switch now := p.places[one.place]; {
	case p.ending:
		if one.ready && err != nil && p.status == 0 {
			p.status = 1
		}
	case now != one:
		if now != nil && now.before == one {
			now.before = nil
		}
		p.renew()
	case time.Since(one.begun) < atOnce:
		p.later(one.place, one.before)
	default:
		p.pauses[one.place] = 0
		p.start(one.place, one.before)
	}
}

// replace replaces all processes, one after the other.
func (p *parent) replace(why string) {
	log.Printf("launch: all workers are replaced: %s", why)
	for _, one := range p.places {
		if one != nil {
			one.stale = true
		}
	}
	p.renew()
}

// renew starts a process beside the first that is stale, unless another one is on its way: that is replaced when it has gone.
func (p *parent) renew() {
	var stale *process
	for _, one := range p.places {
		if one == nil || one.before != nil && p.alive[one.before] {
			return
		}
		if one.stale && stale == nil {
			stale = one
		}
	}
	if stale != nil {
		p.start(stale.place, stale)
	}
}

// stop ends all processes: in good order, and at once if it is said again.
func (p *parent) stop(s os.Signal) {
	switch {
	case !p.ending:
		log.Printf("launch: stopping: %v", s)
		p.first, p.asked = s, time.Now()
	case s == p.first && time.Since(p.asked) < sameSign:
		return
	default:
		log.Printf("launch: stopping at once: %v", s)
		p.status = 1
	}
	for one := range p.alive {
		if p.ending {
			one.cmd.Process.Kill()
		} else {
			p.leave(one)
		}
	}
	p.ending = true
}
