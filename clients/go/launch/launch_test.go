package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	ergon "ergon-client"
	"ergon-client/ergontest"
)

const patience = 30 * time.Second

var kept []byte

// mux has the methods of the program that the tests launch.
func mux() *ergon.Mux {
	mux := ergon.NewMux()
	ergon.Handle(mux, "pid", func(*ergon.Context, struct{}) (int, error) { return os.Getpid(), nil })
	ergon.Handle(mux, "grow", func(_ *ergon.Context, mib int) (int, error) {
		kept = make([]byte, mib<<20)
		for i := 0; i < len(kept); i += 4096 {
			kept[i] = 1
		}
		return os.Getpid(), nil
	})
	ergon.Handle(mux, "sleeper", func(*ergon.Context, struct{}) (int, error) {
		sleep := exec.Command("sleep", "300")
		pipe, _ := syscall.Dup(3)
		sleep.ExtraFiles = []*os.File{os.NewFile(uintptr(pipe), "parent")}
		err := sleep.Start()
		return sleep.Process.Pid, err
	})
	ergon.Handle(mux, "await", func(c *ergon.Context, name string) (int, error) {
		c.Progress(1, 2, "waits")
		_, _, err := c.Client.EventWait(c, name, 1)
		return os.Getpid(), err
	})
	return mux
}

// TestMain is the program itself if the environment says so.
func TestMain(m *testing.M) {
	switch os.Getenv("LAUNCH_TEST") {
	case "":
	case "good":
		Main(mux(), func(ctx context.Context, c *ergon.Client) error {
			_, err := c.Info(ctx)
			fmt.Println("connected:", err == nil)
			return err
		})
	case "bad":
		Main(mux(), func(context.Context, *ergon.Client) error { return errors.New("no luck") })
	default:
		Main(mux())
	}
	os.Exit(m.Run())
}

// launched is a program that a test has started.
type launched struct {
	*testing.T
	cmd    *exec.Cmd
	lines  chan string
	client *ergon.Client
}

func start(t *testing.T, program string, flags ...string) *launched {
	t.Helper()
	url := ergontest.Server(t)
	cmd := exec.Command(program, append([]string{"--url", url}, flags...)...)
	l := &launched{t, cmd, make(chan string, 1000), ergontest.Dial(t, url)}
	l.cmd.Env, l.cmd.Dir = append(os.Environ(), "LAUNCH_TEST=1"), t.TempDir()
	said, err := l.cmd.StderrPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for scan := bufio.NewScanner(said); scan.Scan(); {
			l.lines <- scan.Text()
		}
		close(l.lines)
	}()
	t.Cleanup(func() {
		if l.cmd.ProcessState == nil {
			l.end()
		}
	})
	return l
}

// heard waits for a line with these words, and returns it.
func (l *launched) heard(words string) string {
	l.Helper()
	seen, late := []string{}, time.After(patience)
	for {
		select {
		case line, ok := <-l.lines:
			if strings.Contains(line, words) {
				return line
			}
			if seen = append(seen, line); !ok {
				l.Fatalf("no line has %q: the program has ended\n%s", words, strings.Join(seen, "\n"))
			}
		case <-late:
			l.Fatalf("no line has %q\n%s", words, strings.Join(seen, "\n"))
		}
	}
}

func (l *launched) signal(s os.Signal) { l.cmd.Process.Signal(s) }

// status waits for the end.
func (l *launched) status() int {
	for range l.lines {
	}
	l.cmd.Wait()
	return l.cmd.ProcessState.ExitCode()
}

func (l *launched) end() int {
	l.signal(syscall.SIGTERM)
	return l.status()
}

// run submits a task and waits for its result.
func (l *launched) run(method string, params ...any) int {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	task, err := l.client.Submit(ctx, nil, method, params...)
	if err != nil {
		l.Fatal(err)
	}
	result, err := task.Wait(ctx)
	if err != nil {
		l.Fatal(err)
	}
	return int(result.(int64))
}

func executable(t *testing.T) string {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestProcessesAreReplacedAfterTheirTasks(t *testing.T) {
	l := start(t, executable(t), "--max-tasks", "2")
	l.heard("is ready")
	first, second := l.run("pid"), l.run("pid")
	l.heard("leaves: it has run 2 tasks")
	l.heard("ended: in good order")
	third := l.run("pid")
	if status := l.end(); status != 0 || first != second || second == third {
		t.Errorf("status %d, processes %d, %d, %d", status, first, second, third)
	}
}

func TestAProcessWithTooMuchMemoryIsReplaced(t *testing.T) {
	l := start(t, executable(t), "--max-memory", "100m")
	l.heard("is ready")
	small, large := l.run("pid"), l.run("grow", 120)
	l.heard("MiB of memory")
	l.heard("ended: in good order")
	if after := l.run("pid"); small != large || after == large {
		t.Errorf("processes %d, %d, %d", small, large, after)
	}
	if status := l.end(); status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestAProcessThatDiesIsStartedAgain(t *testing.T) {
	l := start(t, executable(t))
	l.heard("is ready")
	first := l.run("pid")
	syscall.Kill(first, syscall.SIGKILL)
	l.heard(fmt.Sprintf("(pid %d) ended: signal: killed", first))
	l.heard("is ready")
	second := l.run("pid")
	syscall.Kill(second, syscall.SIGTERM)
	l.heard(fmt.Sprintf("(pid %d) ended: in good order", second))
	if status := l.end(); status != 0 || first == second {
		t.Errorf("status %d, processes %d, %d", status, first, second)
	}
}

func TestThePauseBeforeAnotherStartGrows(t *testing.T) {
	p := newParent(&settings{processes: 1}, nil)
	pauses := []time.Duration{}
	for len(pauses) < 10 {
		p.later(0, nil)
		pauses = append(pauses, p.pauses[0])
	}
	if pauses[0] != pauseMin || pauses[1] != 2*pauseMin || pauses[9] != pauseMax {
		t.Errorf("%v", pauses)
	}
}

func TestAHangUpReplacesWhatRunsWhileAnotherIsToStartAgain(t *testing.T) {
	l := start(t, executable(t), "--processes", "2")
	l.heard("is ready")
	l.heard("is ready")
	first := l.run("pid")
	syscall.Kill(first, syscall.SIGKILL)
	l.heard("starts again in")
	l.signal(syscall.SIGHUP)
	l.heard("all workers are replaced")
	l.heard("ended: in good order")
	if status := l.end(); status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestTheEndOfAProcessIsSeenWhoeverHasItsPipe(t *testing.T) {
	l := start(t, executable(t))
	l.heard("is ready")
	worker, sleeper := l.run("pid"), l.run("sleeper")
	defer syscall.Kill(sleeper, syscall.SIGKILL)
	syscall.Kill(worker, syscall.SIGKILL)
	l.heard("ended: signal: killed")
	if status := l.end(); status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestAHandlerThatFailsToEndIsAStatus(t *testing.T) {
	l := start(t, executable(t))
	l.heard("is ready")
	worker := l.run("pid")
	l.waiting()
	l.signal(syscall.SIGTERM)
	l.heard("stopping: terminated")
	syscall.Kill(worker, syscall.SIGKILL)
	if status := l.status(); status != 1 {
		t.Errorf("status %d", status)
	}
}

func TestWorkersThatTheServerRefusesAreNotStartedAgain(t *testing.T) {
	l := start(t, executable(t), "--name", strings.Repeat("n", 1000))
	l.heard("cannot work")
	if status := l.status(); status != 2 {
		t.Errorf("status %d", status)
	}
}

func TestASignalOfAnotherKindIsASecondOne(t *testing.T) {
	p := newParent(&settings{processes: 1}, nil)
	p.stop(syscall.SIGTERM)
	p.stop(syscall.SIGTERM)
	if p.status != 0 {
		t.Error("a signal that came twice at once was two")
	}
	p.stop(syscall.SIGINT)
	if p.status != 1 {
		t.Errorf("status %d", p.status)
	}
}

func TestNoGrace(t *testing.T) {
	for flags, wanted := range map[string]time.Duration{"--grace=0": -1, "--grace=2s": 2 * time.Second, "--slots=1": 0} {
		p := &Program{Mux: mux()}
		if _, err := p.parse([]string{"--url", "unix:///x", flags}); err != nil || p.Work.Grace != wanted {
			t.Errorf("%s: %v, %v", flags, p.Work.Grace, err)
		}
	}
}

func TestAHangUpReplacesOneAfterTheOther(t *testing.T) {
	l := start(t, executable(t), "--processes", "2")
	l.heard("is ready")
	l.heard("is ready")
	l.signal(syscall.SIGHUP)
	wanted := []string{"all workers are replaced: SIGHUP"}
	for _, worker := range []string{"1", "2"} {
		for _, event := range []string{"started", "is ready", "ended: in good order"} {
			wanted = append(wanted, "worker "+worker+" (pid %) "+event)
		}
	}
	seen := []string{}
	for range wanted {
		words := strings.Fields(strings.SplitN(l.heard("launch: "), "launch: ", 2)[1])
		for i, word := range words {
			if i > 0 && words[i-1] == "(pid" && strings.HasSuffix(word, ")") {
				words[i] = "%)"
			}
		}
		seen = append(seen, strings.Join(words, " "))
	}
	if !reflect.DeepEqual(seen, wanted) {
		t.Errorf("%s", strings.Join(seen, "\n"))
	}
	if status := l.end(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// waiting submits a task that runs until an event, and returns it once it has begun.
func (l *launched) waiting() *ergon.Task {
	l.Helper()
	task, err := l.client.Submit(context.Background(), nil, "await", "go")
	if err != nil {
		l.Fatal(err)
	}
	for w := task.Watch(1); w.Next(context.Background()); {
		if w.Event.Event == "progress" {
			return task
		}
	}
	l.Fatal("the task has ended")
	return nil
}

func TestTheEndIsInGoodOrder(t *testing.T) {
	l := start(t, executable(t))
	l.heard("is ready")
	task := l.waiting()
	l.signal(syscall.SIGINT)
	l.heard("stopping: interrupt")
	l.client.EventSet(context.Background(), "go", nil)
	if status := l.status(); status != 0 {
		t.Errorf("status %d", status)
	}
	if _, err := task.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestWorkersLeaveAParentThatWasKilled(t *testing.T) {
	l := start(t, executable(t))
	l.heard("is ready")
	l.signal(syscall.SIGKILL)
	l.status() // the worker has the other end of its lines, too
}

func TestTheSecondSignalEndsAtOnce(t *testing.T) {
	l := start(t, executable(t))
	l.heard("is ready")
	task := l.waiting()
	l.signal(syscall.SIGTERM)
	l.heard("stopping: terminated")
	over := make(chan struct{})
	go func() {
		for again := time.NewTicker(sameSign / 4); ; {
			select {
			case <-again.C:
				l.signal(syscall.SIGTERM)
			case <-over:
				return
			}
		}
	}()
	l.heard("stopping at once")
	close(over)
	if status := l.status(); status != 1 {
		t.Errorf("status %d", status)
	}
	shown, err := task.Get(context.Background())
	if err != nil || shown.(map[string]any)["state"] == "done" {
		t.Errorf("%v, %v", shown, err)
	}
}

func TestAnotherProgramInItsPlaceIsTaken(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	from, err := os.Open(executable(t))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, _ := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o700)
	io.Copy(to, from)
	to.Close()
	l := start(t, program, "--dev")
	l.heard("is ready")
	before := l.run("pid")
	os.Chtimes(program, time.Unix(1, 0), time.Unix(1, 0))
	l.heard("all workers are replaced: " + program + " has changed")
	l.heard("ended: in good order")
	if after := l.run("pid"); after == before {
		t.Errorf("process %d is still there", before)
	}
}

func TestAProgramWithACallWorksIfItIsTold(t *testing.T) {
	url := ergontest.Server(t)
	for _, c := range []struct {
		call   string
		status int
		words  string
	}{{"good", 0, "connected: true"}, {"bad", 1, "no luck"}} {
		cmd := exec.Command(executable(t), "--url", url)
		cmd.Env = append(os.Environ(), "LAUNCH_TEST="+c.call)
		said, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(string(said), c.words) {
			t.Errorf("%s: %d, %s", c.call, status, said)
		}
	}
	worker := start(t, executable(t), "--work")
	worker.heard("is ready")
}

func TestWhatIsLookedAt(t *testing.T) {
	folder := t.TempDir()
	write := func(name string) {
		path := filepath.Join(folder, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		os.WriteFile(path, nil, 0o600)
	}
	for _, name := range []string{"a.go", "b/c.go", "go.mod", "d.txt", ".git/e.go"} {
		write(name)
	}
	before := sources(folder, "")
	if len(before) != 3 || before.changed(sources(folder, "")) != "" {
		t.Errorf("%v", before)
	}
	write("f.go")
	if file := before.changed(sources(folder, "")); filepath.Base(file) != "f.go" {
		t.Errorf("%q", file)
	}
	now := sources(folder, "")
	os.Remove(filepath.Join(folder, "a.go"))
	if file := now.changed(sources(folder, "")); filepath.Base(file) != "a.go" {
		t.Errorf("%q", file)
	}
}

func TestWhatCannotBeBuiltHasLines(t *testing.T) {
	said := strings.Builder{}
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	before, _ := os.Getwd()
	defer os.Chdir(before)
	os.Chdir(t.TempDir())
	os.WriteFile("go.mod", []byte("module m\n\ngo 1.19\n"), 0o600)
	for text, isRight := range map[string]bool{"func main() {}\n": true, "func main() { x }\n": false} {
		os.WriteFile("main.go", []byte("package main\n\n"+text), 0o600)
		os.Remove("program")
		built := build("main.go", "program", ".")
		_, err := os.Stat("program")
		if built != isRight || (err == nil) != isRight {
			t.Errorf("%s: %v, %v, %s", text, built, err, said.String())
		}
	}
	for _, words := range []string{"main.go has changed, and go build failed", "undefined: x"} {
		if !strings.Contains(said.String(), words) {
			t.Errorf("%s", said.String())
		}
	}
}

func TestWrongFlagsAreUsage(t *testing.T) {
	for _, c := range []struct {
		flags  []string
		status int
		words  string
	}{
		{[]string{"--url", "unix:///x", "--processes", "0"}, 2, "--processes is a number from 1 to 1000"},
		{[]string{"--url", "unix:///x", "--max-memory", "much"}, 2, "such as 512m"},
		{[]string{"--url", "unix:///x", "more"}, 2, `unexpected argument "more"`},
		{[]string{"--url", "http://x"}, 2, "http://x is neither"},
		{[]string{"--slot"}, 2, "not defined: -slot"},
		{nil, 2, "no server: use --url, or set ERGON_URL"},
		{[]string{"--help"}, 0, "-max-tasks"},
	} {
		cmd := exec.Command(executable(t), c.flags...)
		cmd.Env = append(os.Environ(), "LAUNCH_TEST=1", "ERGON_URL=")
		said, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(string(said), c.words) {
			t.Errorf("%v: %d, %s", c.flags, status, said)
		}
	}
}
