/**
 * Reads from a running service what an upgrade must preserve.
 *
 * Only fields whose meaning is fixed are read, in a fixed form, so that what one version wrote and what a later version shows
 * can be compared although later versions show more.
 */

import { createHash } from 'node:crypto'
import { request } from 'undici'
import type { PlatformClient } from '../../src/interfaces/cli/platform-client.ts'

type Item = Readonly<Record<string, unknown>>

export interface State {
  readonly lists: Readonly<Record<string, readonly Item[]>>
  readonly lineItems: readonly Item[]
  readonly summaries: readonly Item[]
  /** What is left of limits and quotas, by subscription and operation. */
  readonly remaining: Readonly<Record<string, unknown>>
  /** Hashes of the published documents, by path. */
  readonly contents: Readonly<Record<string, string>>
  readonly risks: readonly Item[]
  readonly audit: readonly Item[]
}

export interface StateOptions {
  readonly baseUrl: string
  readonly platform: PlatformClient
  /** Of the line items and summaries. */
  readonly from: string
  readonly to: string
}

const PAGE = 500
/** Fields of each list that are compared; `state` and `active…` are what a restart or a migration could break. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  apis: ['id', 'title', 'major', 'version', 'state', 'retirementDate', 'successor', 'programme'],
  proxies: [
    'id',
    'api',
    'state',
    'activeRevision',
    'stagingRevision',
    'allowedScopes',
    'MemberOfProductIds',
    'backend',
  ],
  openapispecs: ['id', 'api', 'version'],
  openslaspecs: ['id', 'api', 'variant', 'version', 'inForce'],
  products: ['id', 'name', 'apis'],
  consumers: ['id', 'name', 'kind'],
  subscriptions: ['id', 'consumer', 'ApiId', 'ApiProductId', 'state', 'slaVariant', 'scopes', 'redirectUris'],
  programmes: ['id', 'name', 'api', 'status'],
  approvals: ['id', 'state'],
  users: ['id', 'username', 'name'],
  rulesets: ['id', 'rules'],
  adrs: ['id', 'title', 'status', 'decision', 'api'],
  principles: ['id', 'name', 'statement'],
  eventsubscriptions: ['id', 'url', 'events', 'state'],
}

export async function readState({ platform, baseUrl, from, to }: StateOptions): Promise<State> {
  const all = async (path: string): Promise<readonly Item[]> => {
    const items: Item[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const separator = path.includes('?') ? '&' : '?'
      const page: { items: readonly Item[]; next: string | null } = await platform.get(
        `${path}${separator}limit=${PAGE}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      items.push(...page.items)
      cursor = page.next
    }
    return items
  }
  const lists: Record<string, readonly Item[]> = {}
  for (const [name, fields] of Object.entries(LISTS)) {
    const items = (await all(`/v1/${name}`)).filter(({ id }) => id !== 'platform-v1')
    lists[name] = items.map((item) => pick(item, fields))
  }
  const query = `?from=${from}&to=${to}`
  const usage = [
    'api',
    'customer',
    'operation',
    'subscription',
    'agent',
    'value',
    'calls',
    'amount',
    'currency',
    'time',
  ]
  return {
    lists,
    lineItems: (await all(`/v1${query}`)).map((item) => pick(item, usage)),
    summaries: (await all(`/v1/summaries${query}&groupBy=api,customer`)).map((item) => pick(item, usage)),
    remaining: await readRemaining(platform, lists['subscriptions'] ?? []),
    contents: await readContents(baseUrl, await platform.token(), lists),
    risks: await readRisks(all),
    audit: (await all('/v1/audit')).map((item) => pick(item, ['time', 'action', 'kind', 'id', 'toRevision'])),
  }
}

async function readRemaining(platform: PlatformClient, subscriptions: readonly Item[]): Promise<State['remaining']> {
  const remaining: Record<string, unknown> = {}
  for (const { id, state, ApiId } of subscriptions) {
    if (state !== 'Active' || ApiId !== 'ledger-v1') continue
    const { items } = await platform.get<{ items: readonly Operation[] }>(`/v1/subscriptions/${String(id)}/operations`)
    for (const { operationId, resourceUnits, limits, quota } of items) {
      remaining[`${String(id)} ${operationId}`] = {
        // A version may show units as numbers or as decimal text.
        resourceUnits: Number(resourceUnits),
        quotaUsed: quota === null ? null : Number(quota.used),
        limits: limits.map(({ name, kind, remaining: left }) => `${name} ${kind} ${left}`),
      }
    }
  }
  return remaining
}

interface Operation {
  readonly operationId: string
  readonly resourceUnits: unknown
  readonly limits: readonly { readonly name: string; readonly kind: string; readonly remaining: number | null }[]
  readonly quota: { readonly used: unknown } | null
}

async function readContents(baseUrl: string, token: string, lists: State['lists']): Promise<State['contents']> {
  const contents: Record<string, string> = {}
  for (const kind of ['openapispecs', 'openslaspecs']) {
    for (const { id } of lists[kind] ?? []) {
      const path = `/v1/${kind}/${String(id)}/content`
      const { statusCode, body } = await request(baseUrl + path, { headers: { authorization: `Bearer ${token}` } })
      const hash = createHash('sha256')
        .update(await body.bytes())
        .digest('hex')
      contents[path] = `${statusCode} ${hash}`
    }
  }
  return contents
}

/** Open and cleared ones alike, without severity and id: both depend on when the calls are read from the spool. */
async function readRisks(all: (path: string) => Promise<readonly Item[]>): Promise<readonly Item[]> {
  const items = [...(await all('/v1/risks?state=open')), ...(await all('/v1/risks?state=cleared'))]
  return items
    .map((item) => pick(item, ['type', 'category', 'api', 'attributedTo', 'firstSeen', 'lastSeen']))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

function pick(item: Item, fields: readonly string[]): Item {
  return Object.fromEntries(fields.map((field) => [field, item[field]]))
}
