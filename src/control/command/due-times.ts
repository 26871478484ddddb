/**
 * Scheduled tasks as registry documents, written in the same commit as the change that causes them. Their ids begin with the
 * time, so that the earliest task is listed first.
 */

import { documentKind, type Registry, type Write } from '../../storage/store/registry.ts'

export interface DueTime {
  readonly tenant: string
  /** Names the handler. */
  readonly kind: string
  /** Id of the resource that the task is for. */
  readonly subject: string
  readonly atMs: number
}

export const DUE_KIND = documentKind<DueTime>('due', 'hidden')

export function dueWrite(due: DueTime): Write {
  const { tenant, kind, subject, atMs } = due
  return { kind: DUE_KIND, id: dueId(kind, subject, atMs), tenant, expected: 0, body: due, keys: { subject } }
}

/** Returns the write of a task; none if the same task is scheduled already. */
export async function addDueWrite(registry: Pick<Registry, 'get'>, due: DueTime): Promise<Write[]> {
  const write = dueWrite(due)
  return (await registry.get(DUE_KIND, write.id)) === null ? [write] : []
}

/** Returns the write that removes a task; none if the task has run. */
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

function dueId(kind: string, subject: string, atMs: number): string {
  return `${String(atMs).padStart(15, '0')} ${kind} ${subject}`
}
