package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// lastStage is what the last stage of the Dockerfile says, by instruction.
func lastStage(t *testing.T) map[string][]string {
	t.Helper()
	text := read(t, "Dockerfile")
	_, last, found := strings.Cut(strings.ReplaceAll(text, "\\\n", ""), "\nFROM scratch\n")
	if !found || strings.Contains(last, "\nFROM ") {
		t.Fatal("the image is not made from scratch")
	}
	said := map[string][]string{}
	for line := range strings.Lines(last) {
		if word, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok && word != "#" {
			said[word] = append(said[word], rest)
		}
	}
	return said
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTheImageFitsTogether holds the Dockerfile against itself: what is not in an
// engine's hands is proven by .ci/image, which reads it.
func TestTheImageFitsTogether(t *testing.T) {
	said := lastStage(t)
	only := func(word string) string {
		if len(said[word]) != 1 {
			t.Fatalf("%s stands %d times", word, len(said[word]))
		}
		return said[word][0]
	}
	env := strings.Fields(only("ENV"))
	volume, port := only("VOLUME"), only("EXPOSE")
	if !slices.Contains(env, "COFFER_DATA="+volume) || !slices.Contains(env, "COFFER_LISTEN=0.0.0.0:"+port) {
		t.Errorf("%v does not fit to the volume %s and the port %s", env, volume, port)
	}
	user := only("USER")
	if !regexp.MustCompile(`^[1-9][0-9]{3,}:[1-9][0-9]{3,}$`).MatchString(user) {
		t.Errorf("USER is %s; it is a number other than root's, which needs no /etc/passwd", user)
	}
	if !slices.Contains(said["COPY"], "--from=build --chown="+user+" "+volume+" "+volume) {
		t.Errorf("the volume is not the user's: %v", said["COPY"])
	}
	_, check, _ := strings.Cut(only("HEALTHCHECK"), "CMD ")
	for what, text := range map[string]string{"ENTRYPOINT": only("ENTRYPOINT"), "CMD": only("CMD"), "HEALTHCHECK": check} {
		var words []string
		if err := json.Unmarshal([]byte(text), &words); err != nil || len(words) == 0 {
			t.Errorf("%s is %s, which needs a shell: %v", what, text, err)
		}
	}
}

// TestOneWayToBuild has everything that is published built with the same flags.
func TestOneWayToBuild(t *testing.T) {
	for _, name := range []string{"Dockerfile", ".ci/release", ".ci/run", "README.md"} {
		text := read(t, name)
		for _, flag := range []string{"-trimpath", "-tags nomsgpack", "-s -w -funcalign=16", "CGO_ENABLED=0"} {
			if !strings.Contains(text, flag) {
				t.Errorf("%s does not build with %s", name, flag)
			}
		}
	}
	for _, name := range []string{"Dockerfile", ".ci/release"} {
		if !regexp.MustCompile(`-X coffer/server/cli\.version=\$\{?(VERSION|version)\}?"`).MatchString(read(t, name)) {
			t.Errorf("%s does not say which version it builds", name)
		}
	}
}

// TestTheComposeExampleGivesNothingAway wants of the example what an operator would
// otherwise have to think of.
func TestTheComposeExampleGivesNothingAway(t *testing.T) {
	var file struct {
		Services map[string]struct {
			ReadOnly    bool     `yaml:"read_only"`
			CapDrop     []string `yaml:"cap_drop"`
			SecurityOpt []string `yaml:"security_opt"`
			Volumes     []string
			Secrets     []string
			Privileged  bool
			User        string
		}
		Secrets, Volumes map[string]any
	}
	if err := yaml.Unmarshal([]byte(read(t, "docs/examples/compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	s, ok := file.Services["coffer"]
	if !ok || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Privileged || s.User != "" {
		t.Errorf("got %+v", s)
	}
	for _, v := range s.Volumes {
		name, place, _ := strings.Cut(v, ":")
		if _, ok := file.Volumes[name]; !ok || place != lastStage(t)["VOLUME"][0] {
			t.Errorf("the volume %s is none of the image's", v)
		}
	}
	for _, name := range s.Secrets {
		if _, ok := file.Secrets[name]; !ok {
			t.Errorf("there is no secret %s", name)
		}
	}
}

// TestSystemdTakesTheUnits has systemd itself read them.
func TestSystemdTakesTheUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "coffer")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	verify := []string{"verify"}
	for _, name := range []string{"coffer.service", "coffer.socket"} {
		text := strings.ReplaceAll(read(t, "docs/examples/"+name), "/usr/local/bin/coffer", program)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		verify = append(verify, filepath.Join(dir, name))
	}
	if out, err := exec.Command("systemd-analyze", verify...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
