/**
 * Times at which something is due: documents of the registry, written in the same commit as the change
 * that caused them. Ids begin with the time, so that the earliest come first.
 */

import { documentKind, type Registry, type Write } from '../store/registry.ts'

export interface DueTime {
  readonly tenant: string
  /** What is due. */
  readonly kind: string
  /** Whose it is: the id of a resource. */
  readonly subject: string
  readonly atMs: number
}

export const DUE_KIND = documentKind<DueTime>('due')

export function dueWrite(due: DueTime): Write {
  const { tenant, kind, subject, atMs } = due
  return { kind: DUE_KIND, id: dueId(kind, subject, atMs), tenant, expected: 0, body: due, keys: { subject } }
}

/** Nothing where it has come already. */
export async function dropDueWrite(
  registry: Pick<Registry, 'get'>,
  kind: string,
  subject: string,
  atMs: number,
): Promise<Write[]> {
  const document = await registry.get(DUE_KIND, dueId(kind, subject, atMs))
  if (document === null) return []
  const { id, tenant, revision } = document
  return [{ kind: DUE_KIND, id, tenant, expected: revision, body: null }]
}

export function dueId(kind: string, subject: string, atMs: number): string {
  return `${String(atMs).padStart(15, '0')} ${kind} ${subject}`
}
