// Package deployed reads what deploy/ holds to run the programs with, so that tests can hold it
// against the programs themselves.
package deployed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Command is how one file of deploy/ runs one program.
type Command struct {
	Where   string // file, below deploy/
	Program string // base name
	Args    []string
	Environ []string
}

// Commands are all there are; deploy is the folder.
func Commands(deploy string) ([]Command, error) {
	var all []Command
	for _, read := range []func(string) ([]Command, error){units, containers, images} {
		some, err := read(deploy)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// units are those of systemd, with the example of their settings.
func units(deploy string) ([]Command, error) {
	files, err := filepath.Glob(filepath.Join(deploy, "systemd", "*.service"))
	if err != nil {
		return nil, err
	}
	var all []Command
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		words := strings.Fields(setting(string(text), "ExecStart"))
		if len(words) == 0 {
			return nil, fmt.Errorf("%s: no ExecStart", file)
		}
		env := filepath.Base(strings.TrimPrefix(setting(string(text), "EnvironmentFile"), "-"))
		settings, err := os.ReadFile(filepath.Join(deploy, "systemd", env))
		if err != nil {
			return nil, err
		}
		c := Command{Where: "systemd/" + filepath.Base(file), Program: filepath.Base(words[0]), Args: words[1:]}
		for line := range strings.Lines(string(settings)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				c.Environ = append(c.Environ, line)
			}
		}
		all = append(all, c)
	}
	return all, nil
}

func setting(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return ""
}

// Objects are the Kubernetes objects of a file, strictly read: no key twice.
func Objects(file string) ([]map[string]any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	for i, part := range bytes.Split(text, []byte("\n---\n")) {
		var o map[string]any
		if err := yaml.UnmarshalStrict(part, &o); err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", file, i+1, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// container is one of a pod.
type container struct {
	Command, Args []string
	Env           []struct {
		Name      string
		Value     string
		ValueFrom any
	}
}

// containers are those of Kubernetes' pods that run a program of ours.
func containers(deploy string) ([]Command, error) {
	files, err := filepath.Glob(filepath.Join(deploy, "kubernetes", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []Command
	for _, file := range files {
		objects, err := Objects(file)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			some, err := containersOf(o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			for _, c := range some {
				all = append(all, command("kubernetes/"+filepath.Base(file), c))
			}
		}
	}
	return all, nil
}

func containersOf(object map[string]any) ([]container, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var pods struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []container }
			}
		}
	}
	if object["kind"] == "Kustomization" {
		return nil, nil
	}
	return pods.Spec.Template.Spec.Containers, json.Unmarshal(text, &pods)
}

// command has a word of its own for what the cluster fills in.
func command(where string, c container) Command {
	out := Command{Where: where, Program: filepath.Base(c.Command[0])}
	known := map[string]string{}
	for _, e := range c.Env {
		value := e.Value
		if e.ValueFrom != nil {
			value = "filled-in"
		}
		known[e.Name] = value
		out.Environ = append(out.Environ, e.Name+"="+value)
	}
	for _, a := range append(c.Command[1:], c.Args...) {
		out.Args = append(out.Args, os.Expand(strings.NewReplacer("$(", "${", ")", "}").Replace(a), func(name string) string {
			if value, ok := known[name]; ok {
				return value
			}
			return "$(" + name + ")"
		}))
	}
	return out
}

var listed = regexp.MustCompile(`^(?:ENTRYPOINT|CMD|HEALTHCHECK .*CMD) (\[.*\])$`)

// images are what the container file runs: by words, never by a shell.
func images(deploy string) ([]Command, error) {
	const where = "container/Containerfile"
	text, err := os.ReadFile(filepath.Join(deploy, where))
	if err != nil {
		return nil, err
	}
	var all []Command
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		verb, _, _ := strings.Cut(line, " ")
		if verb != "ENTRYPOINT" && verb != "CMD" && verb != "HEALTHCHECK" {
			continue
		}
		m := listed.FindStringSubmatch(line)
		var words []string
		if m == nil {
			return nil, fmt.Errorf("%s: %q needs a shell, and there is none: write a list of words", where, line)
		}
		if err := json.Unmarshal([]byte(m[1]), &words); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", where, line, err)
		}
		if len(words) > 0 {
			all = append(all, Command{Where: where, Program: filepath.Base(words[0]), Args: words[1:]})
		}
	}
	return all, nil
}
