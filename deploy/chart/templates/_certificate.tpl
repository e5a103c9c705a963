{{- /*
Whom the apiserver is to trust, base64: where the webhook makes its certificate itself, it writes that. But beside the
replicas of version 0.1.0, whose certificate Helm made, the authority of that one stays trusted. It is known by Helm's
label: another Secret of this name stays when the source changes, and what the webhook writes must not be overwritten
with its authority by each upgrade. Nothing where cert-manager writes it.
*/ -}}
{{- define "penstock.caBundle" -}}
{{- if eq .Values.certificate.source "generated" -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace "penstock-webhook-tls" -}}
{{- if eq (dig "metadata" "labels" "app.kubernetes.io/managed-by" "" $secret) "Helm" -}}
{{- dig "data" "ca.crt" "" $secret -}}
{{- end -}}
{{- else if eq .Values.certificate.source "provided" -}}
{{- b64enc .Values.certificate.caBundle -}}
{{- end -}}
{{- end -}}
