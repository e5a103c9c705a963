package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// printFields says, for each name of a field in a pod's spec, which kinds of Go types have it: `name kind,kind`. An
// empty map or struct says nothing, an empty thing behind a pointer does.
func printFields() {
	found := map[string]map[string]bool{}
	walk(reflect.TypeFor[v1.PodSpec](), "", found)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Println(name, strings.Join(slices.Sorted(maps.Keys(found[name])), ","))
	}
}

func walk(kind reflect.Type, name string, found map[string]map[string]bool) {
	note := func(what string) {
		if name != "" && found[name] == nil {
			found[name] = map[string]bool{}
		}
		if name != "" {
			found[name][what] = true
		}
	}
	switch {
	case kind == reflect.TypeFor[resource.Quantity]():
		note("quantity")
	case kind == reflect.TypeFor[metav1.Time]():
		note("time")
	case kind.Kind() == reflect.Pointer && kind.Elem() == reflect.TypeFor[resource.Quantity]():
		note("quantity")
	case kind.Kind() == reflect.Pointer:
		note("pointer")
		walk(kind.Elem(), "", found)
	case kind.Kind() == reflect.Slice:
		note("list")
		walk(kind.Elem(), "", found)
	case kind.Kind() == reflect.Map && kind.Elem() == reflect.TypeFor[resource.Quantity]():
		note("quantities")
	case kind.Kind() == reflect.Map:
		note("map")
	case kind.Kind() == reflect.Struct:
		note("struct")
		for i := range kind.NumField() {
			field := kind.Field(i)
			inner, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			walk(field.Type, inner, found)
		}
	default:
		note("scalar")
	}
}
