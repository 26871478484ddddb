/**
 * The audit log: every change with its author, time and revisions.
 *
 * A body is shown with the fields that the declaration of its kind lists, and no others.
 */

import {
  FOREIGN_AUTHOR,
  shownFields,
  type AuditEntry,
  type AuditPosition,
  type Author,
  type Registry,
} from '../../storage/store/registry.ts'
import { toTime } from './commands.ts'
import { fromCursor, toCursor, type Page, type PageQuery } from './page.ts'
import { Problem } from '../../foundation/domain/problem.ts'

export interface AuditRecord {
  readonly time: string
  readonly actor: { readonly consumer: string; readonly agent?: string; readonly person?: string }
  readonly action: string
  readonly kind: string
  readonly id: string
  readonly fromRevision: number | null
  readonly toRevision: number | null
  readonly before: unknown
  readonly after: unknown
}

export interface AuditFilter extends PageQuery {
  readonly kind?: string
  readonly id?: string
  readonly action?: string
  readonly consumer?: string
}

export interface Audit {
  list(tenant: string, filter: AuditFilter): Promise<Page<AuditRecord>>
}

type Fields = Readonly<Record<string, unknown>>

interface RevisionsContext {
  readonly activeRevision?: unknown
  readonly stagingRevision?: unknown
  readonly canary?: { readonly rule: unknown } | null
}

export function createAudit({ registry }: { registry: Pick<Registry, 'history'> }): Audit {
  const fieldsOf = shownFields()
  const bodiesOf = [...fieldsOf.keys()]

  return {
    async list(tenant, { limit, cursor, ...filter }) {
      const entries = await registry.history({
        tenant,
        ...filter,
        ...(cursor !== undefined && { before: toPosition(cursor) }),
        bodiesOf,
        limit: limit + 1,
      })
      const items = entries.slice(0, limit)
      const last = items.at(-1)
      const isMore = entries.length > limit && last !== undefined
      return {
        items: items.map((item) => show(tenant, item, fieldsOf.get(item.kind))),
        next: isMore ? toCursor(`${last.position.change} ${last.position.note}`) : null,
      }
    },
  }
}

function show(
  tenant: string,
  { position: _, atMs, author, kind, before, after, ...entry }: AuditEntry,
  fields: readonly string[] = [],
): AuditRecord {
  return {
    time: toTime(atMs),
    actor: actorOf(author, tenant),
    kind,
    ...entry,
    before: shownBody(before, fields),
    after: shownBody(after, fields),
  }
}

/** Returns the author without the tenant; hides the ids of an author from the operator's tenant. */
function actorOf({ tenant: of, ...actor }: Author, tenant: string): AuditRecord['actor'] {
  return of === tenant || actor.consumer === 'system' ? actor : { consumer: FOREIGN_AUTHOR }
}

/** Returns the fields of a body that may be shown; null if there is none. */
export function shownBody(body: unknown, fields: readonly string[]): unknown {
  if (fields.length === 0 || typeof body !== 'object' || body === null) return null
  const all = body as Fields
  const { actor } = all as { readonly actor?: { readonly value: unknown } }
  const own = actor === undefined ? all : { ...all, state: stateOf(actor.value, all) }
  return Object.fromEntries(fields.filter((field) => own[field] !== undefined).map((field) => [field, own[field]]))
}

/** Returns the state; for a proxy its revisions, which say more than its parallel states. */
function stateOf(value: unknown, { actor }: Fields): unknown {
  if (typeof value === 'string') return value
  const { context } = actor as { readonly context?: RevisionsContext }
  const rule = context?.canary?.rule
  return {
    activeRevision: context?.activeRevision ?? null,
    stagingRevision: context?.stagingRevision ?? null,
    ...(rule !== undefined && { canary: rule }),
  }
}

function toPosition(cursor: string): AuditPosition {
  const [, change, note] = /^(\d{1,16}) (\d{1,16})$/.exec(fromCursor(cursor)) ?? []
  if (change === undefined)
    throw new Problem('cursor_invalid', 'The cursor must be the `next` of the previous page, unchanged.')
  return { change: Number(change), note: Number(note) }
}
