/** Port of the backends that nodes report as failing, so that several nodes publish one event, and show the same. */

export interface UpstreamReport {
  readonly tenant: string
  readonly api: string
  /** Text, since a node of another version may know other states. */
  readonly state: string
  /** How badly the backend fails; 0 while it recovers. */
  readonly severity: number
}

export interface UpstreamReports {
  /** Notes how the backend of an API is for a node; null: healthy. Returns whether it fails worse than for every other live node. */
  report(node: string, api: string, report: UpstreamReport | null): Promise<boolean>
  /** Replaces all reports of a node, without news. */
  restate(node: string, reports: readonly UpstreamReport[]): Promise<void>
  /** Returns the reports of all live nodes on the backends of a tenant: as many as nodes for an API. */
  list(tenant: string): Promise<readonly UpstreamReport[]>
}
