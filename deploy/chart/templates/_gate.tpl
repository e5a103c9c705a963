{{- /*
What adds the gate and protects it, as include takes it: text for yes, nothing for no. `auto` asks what the apiserver has.
From the webhook to the policies it goes by way of both, in two upgrades: Helm would take the one away while the other is
not heeded yet. Where nothing can be looked up (`helm template`) it cannot see that, and the mode has to be written out.
*/ -}}
{{- define "penstock.gate" -}}
{{- if ne .Values.gate.mode "auto" -}}
{{ .Values.gate.mode }}
{{- else if semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version -}}
{{- $webhook := lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "penstock" -}}
{{- $policies := lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicyBinding" "" "penstock-create" -}}
{{- if and $webhook (not $policies) }}Both{{ else }}Policies{{ end }}
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
