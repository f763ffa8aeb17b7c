package ergontest

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	ergon "ergon-client"
)

const patience = 20 * time.Second // for a server to begin, and to end

// Server starts a server for a test, on a Unix socket in a folder that goes with it, and returns its URL. The program is that of
// $ERGOND, else the ergond of PATH; the test fails if there is none. Flags are those of ergond.
func Server(t testing.TB, flags ...string) string {
	t.Helper()
	program := os.Getenv("ERGOND")
	if program == "" {
		found, err := exec.LookPath("ergond")
		if err != nil {
			t.Fatal("ergontest.Server: there is no ergond: set ERGOND to the program, or put it on PATH")
		}
		program = found
	}
	folder, err := os.MkdirTemp("", "ergon")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	url := "unix://" + filepath.Join(folder, "socket")
	var errors bytes.Buffer
	server := exec.Command(program, append([]string{"--listen", url}, flags...)...)
	server.Dir, server.Stderr, server.SysProcAttr = folder, &errors, withUs()
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatalf("ergontest.Server: %s: %v", program, err)
	}
	t.Cleanup(func() { end(server) })
	listens := make(chan error, 1)
	lines := bufio.NewReader(out)
	go func() {
		_, err := lines.ReadString('\n')
		listens <- err
		for err == nil { // or it could not write on
			_, err = lines.ReadString('\n')
		}
	}()
	select {
	case err = <-listens:
	case <-time.After(patience):
		err = context.DeadlineExceeded
	}
	if err != nil {
		end(server)
		t.Fatalf("ergontest.Server: %s did not begin: %v\n%s", program, err, errors.String())
	}
	return url
}

// end asks a server to end, and kills it if it does not.
func end(server *exec.Cmd) {
	if server.ProcessState != nil {
		return
	}
	server.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(patience, func() { server.Process.Kill() })
	defer late.Stop()
	server.Wait()
}

// Dial is a client of a server for a test.
func Dial(t testing.TB, url string) *ergon.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := ergon.Dial(ctx, url, ergon.Options{Log: ergon.Silent})
	if err != nil {
		t.Fatalf("ergontest: %v", err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// Work has a worker run the methods of a Mux until the test ends, and returns a client of the same server once they are offered.
func Work(t testing.TB, mux *ergon.Mux, url string, o ergon.WorkOptions) *ergon.Client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, over, after := make(chan struct{}), make(chan error, 1), o.OnReady
	o.OnReady = func() {
		close(ready)
		if after != nil {
			after()
		}
	}
	worker := Dial(t, url)
	go func() { over <- mux.Work(ctx, worker, o) }()
	select {
	case <-ready:
	case err := <-over:
		cancel()
		t.Fatalf("ergontest.Work: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Errorf("ergontest.Work: %v", err)
		}
	})
	return Dial(t, url)
}
