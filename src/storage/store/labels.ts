/** Labels: short texts by which users group and find resources. The registry indexes the member `labels` of every body. */

export type Labels = Readonly<Record<string, string>>

/** Part of the body of a document that can have labels. */
export interface Labelled {
  readonly labels?: Labels
}

/** The key under which a document is found by its labels; it has a value for each of them. */
export const LABEL_KEY = 'label'

/** Returns the values of the key `label`: `key:value`. A key contains no colon, so that the values are unambiguous. */
export function labelValues(body: unknown): readonly string[] {
  if (typeof body !== 'object' || body === null || !('labels' in body)) return []
  const { labels } = body
  if (typeof labels !== 'object' || labels === null) return []
  return Object.entries(labels).map(([key, value]) => `${key}:${String(value)}`)
}
