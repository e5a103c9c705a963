"""The page: what the visibility API says, in a browser, under the rights of whoever looks. It decides nothing itself.

The server asks the API again and again for what somebody looks at, and sends what has changed. The page itself, in
TypeScript, is in `page/` of the repository; `make page` builds it into `static/` here. What is changed where:

- who looks, and by which credentials: `dashboard/viewers`; with a kubeconfig `dashboard/one_viewer`, in a cluster
  `dashboard/token_viewers`
- what may be asked for, and of which resource it is made: `dashboard/parts`
- search, filters, order and groups of pods: `dashboard/pod_table`
- what happened to a pod: `dashboard/timeline`
- how often the API is asked: `dashboard/feeds`; how changes are sent: `dashboard/live`
- what the browser may do: `dashboard/protection`
"""
