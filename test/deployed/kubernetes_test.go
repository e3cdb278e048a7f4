package deployed

import (
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// object is what the tests look at of any Kubernetes object.
type object struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Resources        []string
	Images           []struct{ Name, NewName, NewTag string }
	Spec             struct {
		Selector    json.RawMessage
		PodSelector json.RawMessage
		ServiceName string
		Replicas    int
		Ports       []struct {
			Name       string
			Port       int
			TargetPort string
		}
		Ingress  []rule
		Egress   []rule
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

type rule struct{ Ports []struct{ Port any } }

type pod struct {
	Containers []struct {
		Name, Image string
		Args        []string
		Ports       []struct {
			Name          string
			ContainerPort int
		}
		ReadinessProbe, LivenessProbe *struct {
			HTTPGet struct{ Path, Port, Scheme string }
		}
		VolumeMounts    []struct{ Name, MountPath string }
		SecurityContext struct {
			AllowPrivilegeEscalation *bool
			ReadOnlyRootFilesystem   bool
			Capabilities             struct{ Drop []string }
		}
	}
	Volumes                      []struct{ Name string }
	AutomountServiceAccountToken *bool
	ServiceAccountName           string
}

func objects(t *testing.T, file string) []object {
	t.Helper()
	raw, err := Objects(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []object
	for _, r := range raw {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if o.APIVersion == "" || o.Kind == "" {
			t.Errorf("%s: an object without apiVersion or kind", file)
		}
		all = append(all, o)
	}
	return all
}

func manifests(t *testing.T) map[string][]object {
	t.Helper()
	all := map[string][]object{}
	for _, pattern := range []string{"*.yaml", "etcd-example/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(deploy, "kubernetes", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, error %v", pattern, len(files), err)
		}
		for _, f := range files {
			all[f] = objects(t, f)
		}
	}
	return all
}

// pods are the templates by the app that their labels name.
func pods(all []object) map[string]object {
	out := map[string]object{}
	for _, o := range all {
		if len(o.Spec.Template.Spec.Containers) > 0 {
			out[o.Spec.Template.Metadata.Labels["app.kubernetes.io/name"]] = o
		}
	}
	return out
}

// selects is the app that an object selects, in either form.
func (o object) selects() string {
	for _, raw := range []json.RawMessage{o.Spec.Selector, o.Spec.PodSelector} {
		var labels struct{ MatchLabels map[string]string }
		var plain map[string]any
		_ = json.Unmarshal(raw, &labels)
		_ = json.Unmarshal(raw, &plain)
		if app := labels.MatchLabels["app.kubernetes.io/name"]; app != "" {
			return app
		}
		if app, ok := plain["app.kubernetes.io/name"].(string); ok {
			return app
		}
	}
	return ""
}

func (p pod) has(port string) bool {
	for _, c := range p.Containers {
		for _, have := range c.Ports {
			if have.Name == port {
				return true
			}
		}
	}
	return false
}

func TestWhatSelectsPodsFindsThem(t *testing.T) {
	seen := 0
	for file, all := range manifests(t) {
		apps := pods(all)
		for _, o := range all {
			where := fmt.Sprintf("%s: %s %s", file, o.Kind, o.Metadata.Name)
			if !slices.Contains([]string{"Service", "StatefulSet", "DaemonSet", "PodDisruptionBudget", "NetworkPolicy"}, o.Kind) {
				continue
			}
			seen++
			p, ok := apps[o.selects()]
			if !ok {
				t.Errorf("%s selects %q, which nothing here is", where, o.selects())
				continue
			}
			for _, port := range o.Spec.Ports {
				if !p.Spec.Template.Spec.has(port.TargetPort) {
					t.Errorf("%s: port %q is none of its pods'", where, port.TargetPort)
				}
			}
			for _, in := range o.Spec.Ingress {
				for _, port := range in.Ports {
					if name, ok := port.Port.(string); !ok || !p.Spec.Template.Spec.has(name) {
						t.Errorf("%s: lets in at %v, which is no port of its pods", where, port.Port)
					}
				}
			}
			if name := o.Spec.ServiceName; name != "" && !slices.ContainsFunc(all, func(s object) bool { return s.Kind == "Service" && s.Metadata.Name == name }) {
				t.Errorf("%s: no service %q", where, name)
			}
		}
	}
	if seen < 10 {
		t.Errorf("looked at %d objects only", seen)
	}
}

func TestPodsAreShutInAndLookedAt(t *testing.T) {
	for file, all := range manifests(t) {
		for app, o := range pods(all) {
			p := o.Spec.Template.Spec
			if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken {
				t.Errorf("%s: %s gets a token of the cluster's, and needs none", file, app)
			}
			for _, c := range p.Containers {
				s := c.SecurityContext
				if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
					t.Errorf("%s: %s may more than it needs: %+v", file, app, s)
				}
				for _, probe := range []any{c.ReadinessProbe, c.LivenessProbe} {
					if fmt.Sprint(probe) == "<nil>" {
						t.Errorf("%s: %s is not looked at", file, app)
					}
				}
				if c.ReadinessProbe != nil && !p.has(c.ReadinessProbe.HTTPGet.Port) || c.LivenessProbe != nil && !p.has(c.LivenessProbe.HTTPGet.Port) {
					t.Errorf("%s: a probe of %s goes to no port of its", file, app)
				}
			}
		}
	}
}

// Volumes are mounted, and files that flags name are in one; ports are those that flags listen at.
func TestFlagsNameWhatThePodHas(t *testing.T) {
	for file, all := range manifests(t) {
		for app, o := range pods(all) {
			p := o.Spec.Template.Spec
			for _, c := range p.Containers {
				var mounted []string
				for _, m := range c.VolumeMounts {
					mounted = append(mounted, m.MountPath)
					if m.Name != "data" && !slices.ContainsFunc(p.Volumes, func(v struct{ Name string }) bool { return v.Name == m.Name }) {
						t.Errorf("%s: %s mounts %q, which is no volume", file, app, m.Name)
					}
				}
				for _, a := range c.Args {
					_, value, _ := strings.Cut(a, "=")
					if strings.HasPrefix(value, "/") && !slices.ContainsFunc(mounted, func(m string) bool { return strings.HasPrefix(value, m+"/") }) {
						t.Errorf("%s: %s: %s is in no volume", file, app, a)
					}
					name, address, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
					if _, port, err := net.SplitHostPort(address); err == nil && (name == "listen" || name == "metrics-listen") {
						want := map[string]string{"listen": "grpc", "metrics-listen": "metrics"}[name]
						if !slices.ContainsFunc(c.Ports, func(have struct {
							Name          string
							ContainerPort int
						}) bool {
							return have.Name == want && fmt.Sprint(have.ContainerPort) == port
						}) {
							t.Errorf("%s: %s: no container port %q is %s", file, app, want, port)
						}
					}
				}
			}
		}
	}
}

func TestTheKustomizationHasEverything(t *testing.T) {
	dir := filepath.Join(deploy, "kubernetes")
	k := objects(t, filepath.Join(dir, "kustomization.yaml"))[0]
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := filepath.Base(f); name != "kustomization.yaml" && !slices.Contains(k.Resources, name) {
			t.Errorf("%s is not in it", name)
		}
		for app, o := range pods(objects(t, f)) {
			for _, c := range o.Spec.Template.Spec.Containers {
				if len(k.Images) != 1 || k.Images[0].Name != c.Image {
					t.Errorf("%s runs image %q, which it gives no release", app, c.Image)
				}
			}
		}
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("no kubectl")
	}
	for _, d := range []string{dir, filepath.Join(dir, "etcd-example")} {
		if out, err := exec.Command(kubectl, "kustomize", d).CombinedOutput(); err != nil || !strings.Contains(string(out), "kind: StatefulSet") {
			t.Errorf("%s: %v\n%.2000s", d, err, out)
		}
	}
}

// The alert and the manifests speak of the same three replicas.
func TestThereAreThreeReplicas(t *testing.T) {
	o, ok := pods(objects(t, filepath.Join(deploy, "kubernetes", "controlplane.yaml")))["pointsman-controlplane"]
	if !ok || o.Spec.Replicas != 3 {
		t.Errorf("%d", o.Spec.Replicas)
	}
}
