{{- /*
What adds the gate and protects it, as include takes it: text for yes, nothing for no. `auto` asks what the apiserver has.
*/ -}}
{{- define "penstock.gate" -}}
{{- if ne .Values.gate.mode "auto" -}}
{{ .Values.gate.mode }}
{{- else if semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version -}}
Policies
{{- else -}}
Webhook
{{- end -}}
{{- end -}}

{{- define "penstock.gateByPolicies" -}}
{{- if ne (include "penstock.gate" .) "Webhook" }}yes{{ end -}}
{{- end -}}

{{- define "penstock.gateByWebhook" -}}
{{- if ne (include "penstock.gate" .) "Policies" }}yes{{ end -}}
{{- end -}}

{{- /* Whether the webhook runs: for the gate, or for a feature that nothing else can do. */ -}}
{{- define "penstock.hasServer" -}}
{{- if include "penstock.gateByWebhook" . }}yes
{{- else if or .Values.runtimeClass.enabled .Values.podPolicies.enabled .Values.schedulingPolicies.enabled }}yes
{{- end -}}
{{- end -}}
