{{- /*
The generated certificate: the data of its Secret, base64. The one in the cluster as long as it is there, else a new
one, made once for all templates of a rendering. To renew it, delete the Secret and upgrade.
*/ -}}
{{- define "penstock.generated" -}}
{{- if not (hasKey .Values "generatedCertificate") -}}
{{- $data := dig "data" dict (lookup "v1" "Secret" .Release.Namespace "penstock-webhook-tls") -}}
{{- if not (and (hasKey $data "ca.crt") (hasKey $data "tls.crt") (hasKey $data "tls.key")) -}}
{{- $days := 3650 -}}
{{- $name := printf "penstock-webhook.%s.svc" .Release.Namespace -}}
{{- $authority := genCA "penstock-authority" $days -}}
{{- $pair := genSignedCert "penstock-webhook" nil (list $name) $days $authority -}}
{{- $data = dict "ca.crt" (b64enc $authority.Cert) "tls.crt" (b64enc $pair.Cert) "tls.key" (b64enc $pair.Key) -}}
{{- end -}}
{{- $_ := set .Values "generatedCertificate" $data -}}
{{- end -}}
{{- toJson (pick .Values.generatedCertificate "ca.crt" "tls.crt" "tls.key") -}}
{{- end -}}

{{- /* Whom the apiserver is to trust, base64; nothing where cert-manager writes it. */ -}}
{{- define "penstock.caBundle" -}}
{{- if eq .Values.certificate.source "generated" -}}
{{- index (include "penstock.generated" . | fromJson) "ca.crt" -}}
{{- else if eq .Values.certificate.source "provided" -}}
{{- b64enc .Values.certificate.caBundle -}}
{{- end -}}
{{- end -}}
