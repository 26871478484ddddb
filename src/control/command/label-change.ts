/** Changes the labels of a document; its other members stay. */

import type { Labelled } from '../../storage/store/labels.ts'
import type { Author, Document, DocumentKind, Registry, Write } from '../../storage/store/registry.ts'
import { commit, find } from './commands.ts'

export interface LabelChange<Body> {
  readonly kind: DocumentKind<Body>
  readonly id: string
  /** Action of the audit entry. */
  readonly action: string
  /** Returns the write of a body, with its keys. */
  readonly write: (id: string, tenant: string, expected: number, body: Body) => Write
}

/** Returns the changed document. Without labels in the change nothing is written. */
export async function changeLabels<Body extends Labelled>(
  registry: Registry,
  author: Author,
  { kind, id, action, write }: LabelChange<Body>,
  { labels }: Labelled,
): Promise<Document<Body>> {
  const { tenant } = author
  const document = await find(registry, tenant, kind, id)
  if (labels === undefined) return document
  await commit(registry, author, action, [write(id, tenant, document.revision, { ...document.body, labels })])
  return find(registry, tenant, kind, id)
}
