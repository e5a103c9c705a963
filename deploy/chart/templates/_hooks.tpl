{{- /*
The spec of a pod that a hook of Helm runs the command line in, beside the controller's pods. Of a dict: root, the
account, the name of the container, and args.
*/ -}}
{{- define "penstock.hookPod" -}}
{{- $values := .root.Values -}}
restartPolicy: Never
serviceAccountName: {{ .account }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
securityContext:
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
{{- with $values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with $values.controller.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with $values.controller.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with $values.controller.affinity }}
affinity: {{ toJson . }}
{{- end }}
containers:
  - name: {{ .name }}
    image: {{ include "penstock.image" .root | quote }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    command: [python, -m, controller.cli]
    args: {{ toJson .args }}
    resources: {{ toJson $values.controller.resources }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
{{- end -}}

{{- /* The annotations of what a hook's pod needs, and what is deleted when it succeeded. Of the command of Helm. */ -}}
{{- define "penstock.hookRights" -}}
helm.sh/hook: {{ . }}
helm.sh/hook-weight: "-1"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
