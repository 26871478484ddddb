/** Port of the backends that nodes report as failing, so that several nodes publish one event. */

export interface UpstreamReports {
  /** Notes how badly the backend of an API fails for a node; 0: it does not. Returns whether it fails worse than for every other live node. */
  report(node: string, api: string, severity: number): Promise<boolean>
}
