/** `/v1/search`: resources whose id or name begins with a text; each kind only with its scope. */

import type { Entitlements } from '../../control/access/people/entitlements.ts'
import { ownScope } from '../../foundation/domain/scope-width.ts'
import { FOUND_KINDS, type Found, type FoundKind, type Search } from '../../control/programmes/search.ts'
import type { ConsumerView } from '../../control/subscriptions/consumer-view.ts'
import { CONSUMER_HEADER, ownerOf } from './caller-owner.ts'
import type { Call, Handlers, Operations } from './operation.ts'
import { id, named, object, text } from './schemas.ts'

/** The scope of the kind, and whether it has an own width. */
const SCOPES: Readonly<Record<FoundKind, { readonly scope: string; readonly hasOwn: boolean }>> = {
  api: { scope: 'apis:read', hasOwn: true },
  consumer: { scope: 'consumers:read', hasOwn: false },
  subscription: { scope: 'subscriptions:read', hasOwn: true },
  product: { scope: 'products:read', hasOwn: true },
  programme: { scope: 'programmes:read', hasOwn: false },
  user: { scope: 'users:read', hasOwn: false },
}
const SHOWN_MAX = 5
/** Read for a caller who sees some of them only. */
const READ_MAX = 25

const found = named('Found', object({ kind: { type: 'string', enum: [...FOUND_KINDS] }, id, name: text, detail: text }))

export const SEARCH_OPERATIONS = {
  search: {
    method: 'GET',
    path: '/v1/search',
    summary: 'Finds resources whose id or name begins with a text, at most five of each kind',
    description:
      'Each kind requires its own scope, `apis:read` for APIs; with the own width, only what the caller sees.',
    tag: 'Users',
    scope: 'me:read',
    singleWidth: 'The scopes of the kinds decide what is found.',
    query: object(
      {
        q: {
          type: 'string',
          minLength: 1,
          maxLength: 64,
          pattern: '^[^\\p{Cc}\\p{Cs}]*[^\\s\\p{Cc}\\p{Cs}][^\\p{Cc}\\p{Cs}]*$',
        },
      },
      ['q'],
    ),
    status: 200,
    answer: object({ found: { type: 'array', maxItems: 30, items: found } }),
  },
} as const satisfies Operations

export interface SearchHandlersOptions {
  readonly search: Search
  readonly consumerView: Pick<ConsumerView, 'isVisible'>
  readonly entitlements: Pick<Entitlements, 'ofUser'>
}

export function searchHandlers(options: SearchHandlersOptions): Handlers<typeof SEARCH_OPERATIONS> {
  return {
    async search(call) {
      const sought = call.query.q.trim()
      const each = await Promise.all(FOUND_KINDS.map((kind) => findKind(options, call, kind, sought)))
      return { found: each.flat().map(({ consumer: _, ...shown }) => shown) }
    },
  }
}

async function findKind(
  { search, consumerView, entitlements }: SearchHandlersOptions,
  { author: { tenant }, caller, request }: Pick<Call, 'author' | 'caller' | 'request'>,
  kind: FoundKind,
  sought: string,
): Promise<readonly Found[]> {
  const { scope, hasOwn } = SCOPES[kind]
  if (caller.scopes.has(scope)) return search.find(kind, tenant, sought, SHOWN_MAX)
  if (!hasOwn || !caller.scopes.has(ownScope(scope))) return []
  const wanted = request.headers[CONSUMER_HEADER.toLowerCase()]
  const owner = await ownerOf(entitlements, caller, ownScope(scope), Array.isArray(wanted) ? wanted.join() : wanted)
  if (owner === null) return []
  const shown: Found[] = []
  for (const each of await search.find(kind, tenant, sought, READ_MAX)) {
    if (shown.length === SHOWN_MAX) break
    if (await isShown(consumerView, tenant, owner, each)) shown.push(each)
  }
  return shown
}

async function isShown(
  view: Pick<ConsumerView, 'isVisible'>,
  tenant: string,
  owner: string,
  { kind, id: found, consumer }: Found,
): Promise<boolean> {
  if (kind === 'api') return view.isVisible(tenant, owner, { api: found })
  if (kind === 'product') return view.isVisible(tenant, owner, { product: found })
  return consumer === owner
}
