{{- /* A rule for what goes out. Of a dict: to and ports, as the value has them, and protocols. Without `to`
where it is empty: the apiserver stores no empty list, so each upgrade would change the object. */ -}}
{{- define "penstock.egress" -}}
- ports:
  {{- range $port := .ports }}
  {{- range $.protocols }}
    - port: {{ $port }}
      protocol: {{ . }}
  {{- end }}
  {{- end }}
  {{- with .to }}
  to: {{ toJson . }}
  {{- end }}
{{- end -}}

{{- /* What values.yaml has: a value that differs is meant to have an effect. */ -}}
{{- define "penstock.usualNetworkPolicy" -}}
from: []
metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
dns:
  to:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}
      podSelector: {matchLabels: {k8s-app: kube-dns}}
  ports: [53]
apiserver: {to: [], ports: [443, 6443]}
history: {to: [], ports: [5432]}
notifications: {to: [], ports: [443]}
{{- end -}}

{{- /* Refuses values that would have no effect; writes nothing. */ -}}
{{- define "penstock.checkNetworkPolicy" -}}
{{- $set := list -}}
{{- range $name, $usual := include "penstock.usualNetworkPolicy" . | fromYaml -}}
{{- if ne (toJson $usual) (toJson (get $.Values.networkPolicy $name)) -}}
{{- $set = append $set $name -}}
{{- end -}}
{{- end -}}
{{- range $set -}}
{{- if not $.Values.networkPolicy.enabled -}}
{{- fail (printf "networkPolicy.%s has no effect without a NetworkPolicy: set networkPolicy.enabled=true, or remove networkPolicy.%s" . .) -}}
{{- end -}}
{{- end -}}
{{- if and (has "history" $set) (not .Values.history.enabled) -}}
{{- fail "networkPolicy.history has no effect without a history, since nothing connects to a database: set history.enabled=true, or remove networkPolicy.history" -}}
{{- end -}}
{{- if and (has "notifications" $set) (not .Values.notifications.enabled) -}}
{{- fail "networkPolicy.notifications has no effect without notifications, since nothing connects to receivers: set notifications.enabled=true, or remove networkPolicy.notifications" -}}
{{- end -}}
{{- end -}}
