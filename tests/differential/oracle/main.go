// The apiserver's own verdict on updates of pods and Jobs: rest.BeforeUpdate with the real strategy of k8s.io/kubernetes,
// which is what a PUT or PATCH goes through after mutating admission.
//
// Reads lines {"old": Pod, "new": [Pod, ...]}, or the same of Jobs, and answers with one line for each new one: a JSON list
// of [field, cause], sorted and without doubles. A line that begins with "!" says why an update cannot be judged: an object
// cannot be decoded, or the old one is refused as it stands.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	api "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/pod"
)

// object is a pod or a Job.
type object interface {
	runtime.Object
	metav1.Object
}

const longestLine = 64 << 20

type updates struct {
	Old json.RawMessage   `json:"old"`
	New []json.RawMessage `json:"new"`
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "fields" {
		printFields()
		return
	}
	// it would write a line for every fault that two of the functions find
	logging := flag.NewFlagSet("logging", flag.PanicOnError)
	klog.InitFlags(logging)
	logging.Set("logtostderr", "false")
	logging.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	// many short-lived objects, and memory to spare
	debug.SetGCPercent(400)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), longestLine)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			// an empty line asks for what is still in the buffer
			out.Flush()
			continue
		}
		var asked updates
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		old, fault := stored(asked.Old)
		for _, raw := range asked.New {
			fmt.Fprintln(out, answer(raw, old, fault))
		}
	}
	out.Flush()
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stored decodes an object that the apiserver has, which it would take again as it stands.
func stored(raw []byte) (object, error) {
	old, err := decode(raw)
	if err != nil {
		return nil, err
	}
	found, err := update(old.DeepCopyObject().(object), old)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("refused as it stands: %v", found)
	}
	return old, err
}

func answer(raw []byte, old object, fault error) string {
	if fault != nil {
		return fmt.Sprintf("!old: %q", fault)
	}
	new, err := decode(raw)
	if err != nil {
		return fmt.Sprintf("!new: %q", err)
	}
	found, err := update(new, old)
	if err != nil {
		return fmt.Sprintf("!update: %q", err)
	}
	text, _ := json.Marshal(found)
	return string(text)
}

func decode(raw []byte) (object, error) {
	decoded, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), raw)
	if err != nil {
		return nil, err
	}
	if _, err := strategy(decoded); err != nil {
		return nil, err
	}
	return decoded.(object), nil
}

// strategy is what the apiserver updates objects of a kind by.
func strategy(of runtime.Object) (rest.RESTUpdateStrategy, error) {
	switch of.(type) {
	case *api.Pod:
		return pod.Strategy, nil
	case *batch.Job:
		return job.Strategy, nil
	}
	return nil, fmt.Errorf("%T is neither a pod nor a Job", of)
}

// requestInfo is that of a PUT of the object.
func requestInfo(of object) *request.RequestInfo {
	info := &request.RequestInfo{
		IsResourceRequest: true, Verb: "update", APIVersion: "v1", Resource: "pods", Namespace: of.GetNamespace(), Name: of.GetName(),
	}
	if _, isJob := of.(*batch.Job); isJob {
		info.APIGroup, info.Resource = batch.GroupName, "jobs"
	}
	return info
}

// update answers what the apiserver would: nothing, or what it refuses.
func update(new, old object) (found [][2]string, err error) {
	// as the apiserver does, where a rule of its own fails
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	by, err := strategy(old)
	if err != nil {
		return nil, err
	}
	if new.GetResourceVersion() == "" {
		// the store does the same for updates without conditions (Store.Update)
		new.SetResourceVersion(old.GetResourceVersion())
	}
	// a request of the new object's namespace: that it is the old one's is for the validation to say
	ctx := request.WithNamespace(context.Background(), new.GetNamespace())
	// declarative validation reads the version of the rules from the request
	ctx = request.WithRequestInfo(ctx, requestInfo(new))
	found = [][2]string{}
	err = rest.BeforeUpdate(by, ctx, new, old)
	if err == nil {
		return found, nil
	}
	status, ok := err.(*errors.StatusError)
	if !ok || !errors.IsInvalid(err) {
		return nil, err
	}
	for _, cause := range status.ErrStatus.Details.Causes {
		found = append(found, [2]string{cause.Field, string(cause.Type)})
	}
	slices.SortFunc(found, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(found), nil
}
