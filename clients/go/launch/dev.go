package launch

import (
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

const look = 200 * time.Millisecond // between two looks at the files

// seen are the times of the last changes of the files that --dev looks at.
type seen map[string]time.Time

// sources are the Go files of a folder and of those in it, go.mod and go.sum, and the program's own file.
func sources(folder, program string) seen {
	found := seen{}
	filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil {
			return nil
		}
		if entry.IsDir() && path != folder && (strings.HasPrefix(name, ".") || name == "node_modules") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".go") || name == "go.mod" || name == "go.sum" {
			if info, err := entry.Info(); err == nil {
				found[path] = info.ModTime()
			}
		}
		return nil
	})
	if info, err := os.Stat(program); err == nil {
		found[program] = info.ModTime()
	}
	return found
}

// changed is a file that is new, gone or another one; "": none.
func (s seen) changed(now seen) string {
	for path, time := range now {
		if before, was := s[path]; !was || !before.Equal(time) {
			return path
		}
	}
	for path := range s {
		if _, is := now[path]; !is {
			return path
		}
	}
	return ""
}

// watch calls changed with the file that has changed and the program that was built of it in a folder, or with the program itself
// if that has changed. If it cannot be built, the log has the lines of the compiler, and the processes stay.
func watch(program, folder string, changed func(file, program string)) {
	before := sources(".", program)
	for number := 1; ; number++ {
		time.Sleep(look)
		now := sources(".", program)
		file := before.changed(now)
		if before = now; file == "" {
			continue
		}
		if file == program {
			changed(file, program)
		} else if to := filepath.Join(folder, fmt.Sprint("program-", number)); build(file, to, packageOf()) {
			changed(file, to)
		}
	}
}

// packageOf is the package that this program was built of.
func packageOf() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		return info.Path
	}
	return "."
}

// build makes the program anew; false: that failed.
func build(file, to, of string) bool {
	said, err := exec.Command("go", "build", "-o", to, of).CombinedOutput()
	if err != nil {
		log.Printf("launch: %s has changed, and go build failed: %v\n%s", file, err, strings.TrimSpace(string(said)))
	}
	return err == nil
}
