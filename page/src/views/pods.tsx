/** All pods of queues. */

import { PodBrowser } from "../parts/podBrowser";

export default function Pods() {
  return (
    <>
      <h1>Pods</h1>
      <PodBrowser />
    </>
  );
}
