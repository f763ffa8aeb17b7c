// Package launch is the main function of a worker: processes that are started, watched and replaced.
//
//	func main() { launch.Main(mux) }
//
//	program --url unix:///run/ergon/socket --processes 4 --slots 8 --max-tasks 10000 --max-memory 512m
//
// The program starts itself as often as --processes says. SIGTERM and SIGINT end all in good order, twice at once; SIGHUP
// replaces all, one after the other. The status is 0 after a good end, 1 after another, 2 for wrong flags, and where the first
// processes cannot work, since the server refuses the token or the methods.
package launch

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	ergon "ergon-client"
)

// Program is what Main runs; flags replace what they name.
type Program struct {
	Mux    *ergon.Mux
	Client ergon.Options // Token: default that of ERGON_TOKEN
	Work   ergon.WorkOptions
	Call   func(context.Context, *ergon.Client) error // of the program without --work; nil: it always works
}

// Main runs a worker of the Mux by the flags of the command line, and ends the process. With a call the program works only if it
// has the flag --work; without that it makes the call, and has the status 1 if it fails.
func Main(mux *ergon.Mux, call ...func(context.Context, *ergon.Client) error) {
	p := &Program{Mux: mux}
	if len(call) > 0 {
		p.Call = call[0]
	}
	p.Main()
}

// Main is the same with options.
func (p *Program) Main() { os.Exit(p.run(os.Args[1:])) }

const child = "ERGON_LAUNCHED" // set in the environment of a process that works

var isChild = os.Getenv(child) != ""

// init keeps the environment and the parent's pipe from programs that this one starts, before its main function does.
func init() {
	if isChild {
		os.Unsetenv(child)
		syscall.CloseOnExec(3)
	}
}

// settings are the flags.
type settings struct {
	url                        string
	processes, slots, maxTasks int
	maxMemory                  size
	grace                      time.Duration
	dev, work                  bool
}

// size is in bytes: 512m, 1g.
type size int64

var sizes = regexp.MustCompile(`^(\d{1,12})([kmgKMG]?)$`)

func (s *size) String() string { return fmt.Sprint(int64(*s)) }

func (s *size) Set(text string) error {
	parts := sizes.FindStringSubmatch(text)
	if parts == nil {
		return errors.New("a size is a number of bytes, with k, m or g behind it, such as 512m")
	}
	n, _ := strconv.ParseInt(parts[1], 10, 64)
	*s = size(n << map[string]int{"": 0, "k": 10, "m": 20, "g": 30}[strings.ToLower(parts[2])])
	return nil
}

func (p *Program) parse(args []string) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet(os.Args[0], flag.ContinueOnError)
	flags.StringVar(&s.url, "url", os.Getenv("ERGON_URL"), "connect to this server; default: ERGON_URL")
	flags.IntVar(&s.processes, "processes", 1, "start so many processes")
	flags.IntVar(&s.slots, "slots", p.Work.Slots, "run so many handlers at a time in each process")
	flags.IntVar(&s.maxTasks, "max-tasks", 0, "replace a process that has run so many tasks; 0: never")
	flags.Var(&s.maxMemory, "max-memory", "replace a process that has more memory, such as 512m, after its tasks; 0: never")
	flags.DurationVar(&s.grace, "grace", p.Work.Grace, "give handlers so long at the end; default: 30s")
	flags.StringVar(&p.Work.Name, "name", p.Work.Name, "the name of the worker, as worker list shows it")
	flags.StringVar(&p.Work.Version, "version", p.Work.Version, "the version of the worker")
	flags.BoolVar(&s.dev, "dev", false, "build the program anew when a source file here changes, and replace the processes")
	flags.BoolVar(&s.work, "work", p.Call == nil, "work, instead of what the program does otherwise")
	err := flags.Parse(args)
	flags.Visit(func(f *flag.Flag) {
		if f.Name == "grace" && s.grace == 0 {
			s.grace = -1 // none; 0 of WorkOptions is the default
		}
	})
	switch {
	case err != nil:
		return nil, err
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.url == "":
		err = errors.New("no server: use --url, or set ERGON_URL")
	case s.processes < 1 || s.processes > 1000:
		err = errors.New("--processes is a number from 1 to 1000")
	case s.slots < 0 || s.slots > 4096:
		err = errors.New("--slots is a number from 1 to 4096")
	case s.maxTasks < 0:
		err = errors.New("--max-tasks is 0 or more")
	}
	if err == nil {
		p.Work.Slots, p.Work.Grace = s.slots, s.grace
		err = p.wrong(s.url)
	}
	if err != nil {
		fmt.Fprintf(flags.Output(), "%s: %v (see --help)\n", os.Args[0], err)
	}
	return s, err
}

// wrong says what is wrong with the URL or the files of the options.
func (p *Program) wrong(url string) error {
	o := p.Client
	o.Log = ergon.Silent
	client, err := ergon.New(url, o)
	if err == nil {
		client.Close()
	}
	return err
}

func (p *Program) run(args []string) int {
	s, err := p.parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case !s.work:
		return p.call(s)
	case isChild:
		return p.work(s)
	}
	return newParent(s, args).run()
}

func (p *Program) dial(s *settings) (*ergon.Client, error) {
	if p.Client.Token == "" {
		p.Client.Token = os.Getenv("ERGON_TOKEN")
	}
	return ergon.New(s.url, p.Client)
}

// call ends with the first SIGINT or SIGTERM.
func (p *Program) call(s *settings) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	client, err := p.dial(s)
	if err == nil {
		defer client.Close()
		err = p.Call(ctx, client)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		return 1
	}
	return 0
}

// ---- a process that works ----

// work ends in good order at SIGTERM, when the parent has gone, and when it has done what the flags allow.
func (p *Program) work(s *settings) int {
	parent := os.NewFile(3, "parent")
	client, err := p.dial(s)
	if err != nil {
		log.Printf("launch: %v", err)
		return 1
	}
	defer client.Close()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP) // a terminal sends them to all; the parent decides
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		io.Copy(io.Discard, os.Stdin) // until the parent has gone
		stop()
	}()
	var once sync.Once
	leave := func(why string) {
		once.Do(func() {
			fmt.Fprintf(parent, "leaves: %s\n", why)
			stop()
		})
	}
	p.Mux.Use(ergon.Middleware{Handler: s.counted(leave)})
	ready := p.Work.OnReady
	p.Work.OnReady = func() {
		fmt.Fprintln(parent, "ready")
		if ready != nil {
			ready()
		}
	}
	if err = p.Mux.Work(ctx, client, p.Work); err != nil {
		log.Printf("launch: %v", err)
		if e := (*ergon.Error)(nil); !errors.As(err, &e) || !e.Retryable {
			fmt.Fprintln(parent, "cannot work")
		}
		return 1
	}
	return 0
}

// counted calls leave when a process has done enough.
func (s *settings) counted(leave func(string)) func(ergon.Handler) ergon.Handler {
	var done atomic.Int64
	return func(next ergon.Handler) ergon.Handler {
		return func(c *ergon.Context, params []any) (any, error) {
			defer func() {
				if n := done.Add(1); s.maxTasks > 0 && n >= int64(s.maxTasks) {
					leave(fmt.Sprintf("it has run %d tasks", n))
				} else if s.maxMemory > 0 {
					if now := memory(); now > int64(s.maxMemory) {
						leave(fmt.Sprintf("it has %d MiB of memory", now>>20))
					}
				}
			}()
			return next(c, params)
		}
	}
}

// memory of this process, in bytes; 0: this system does not say.
func memory() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	var all, resident int64
	if err == nil {
		fmt.Sscan(string(text), &all, &resident)
	}
	return resident * int64(os.Getpagesize())
}

// lines calls heard with each line of a process, until it has closed its end.
func lines(from io.Reader, heard func(string)) {
	for scan := bufio.NewScanner(from); scan.Scan(); {
		heard(scan.Text())
	}
}
