/**
 * APIs with their active document, backend, policy and declarations.
 *
 * In a folder, `document` and `declarations` are paths of files; of the service they are the texts. Staged revisions and retired
 * APIs are left out, and a declaration is superseded but never removed.
 */

import { isStoredAs } from '../gate/stored-text.ts'
import { deployRevision } from './api-deployment.ts'
import { secretsFault } from './backend-secrets.ts'
import type { Context, Handler } from './handler.ts'
import { isFields, type Fields, type Found, type Resource } from './resource.ts'
import { isSameValue } from './same-value.ts'
import { mapInParallel, withoutNothing } from './simple-handler.ts'

const KIND = 'api'
const PLATFORM_API = 'platform-v1'
/** Changed together, by a new revision. */
const REVISED = ['document', 'backend', 'transform', 'allowedScopes']

export function createApiHandler(): Handler {
  return {
    kind: KIND,
    fields: [...REVISED, 'policy', 'declarations', 'labels'],
    nameOf: ({ name }) => (typeof name === 'string' ? name : null),
    faultIn,
    async read(context) {
      const proxies = new Map((await context.platform.list('/v1/proxies')).map((proxy) => [proxy['api'], proxy]))
      const apis = (await context.platform.list('/v1/apis')).filter(({ id, state }) => {
        return id !== PLATFORM_API && state !== 'Retired' && typeof proxies.get(id)?.['activeRevision'] === 'number'
      })
      return mapInParallel(apis, ({ id }) => readApi(context, String(id), String(proxies.get(id)!['id'])))
    },
    async create(context, wanted) {
      await deployRevision(context, wanted, null)
      await changeSettings(context, wanted, new Set(['policy', 'labels']), null)
      await declare(context, wanted, null)
      return null
    },
    async change(context, found, wanted, changed) {
      // First, because a new revision changes the entity tags.
      await changeSettings(context, wanted, changed, found)
      if (REVISED.some((field) => changed.has(field))) await deployRevision(context, wanted, found)
      if (changed.has('declarations')) await declare(context, wanted, found)
      return null
    },
    async remove({ platform }, found) {
      await platform.send('DELETE', `/v1/apis/${found.id}`, undefined, found.tags[0])
    },
    isSame(context, field, found, wanted) {
      if (field === 'document') return isStoredAs(String(found), context.readFile(String(wanted)))
      const declared = new Set((found ?? []) as readonly string[])
      return (wanted as readonly string[]).every((path) => declared.has(context.readFile(path)))
    },
  }
}

function faultIn({
  document,
  declarations = [],
  backend = {},
  transform = {},
  policy = {},
  allowedScopes = [],
}: Fields): string | null {
  if (document !== undefined && typeof document !== 'string') return 'document must be a path.'
  if (!isTexts(declarations)) return 'declarations must be a list of paths.'
  if (!isFields(backend)) return 'backend must be an object.'
  const fault = secretsFault(backend)
  if (fault !== null) return fault
  if (transform !== null && !isFields(transform)) return 'transform must be an object.'
  if (!isFields(policy)) return 'policy must be an object.'
  return isTexts(allowedScopes) ? null : 'allowedScopes must be a list of scopes.'
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

async function readApi({ platform }: Context, api: string, proxyId: string): Promise<Found> {
  const [{ body: own, tag }, proxy, policy, revisions, declarations] = await Promise.all([
    platform.get(`/v1/apis/${api}`),
    platform.get(`/v1/proxies/${proxyId}`),
    platform.get(`/v1/apis/${api}/policy`),
    platform.list(`/v1/proxies/${proxyId}/revisions`),
    platform.list(`/v1/openslaspecs?api=${api}`),
  ])
  const { activeRevision, backendSource, backend, transform, allowedScopes, declaredScopes } = proxy.body
  const active = revisions.find(({ revision }) => revision === activeRevision)
  const inForce = declarations.filter((each) => each['inForce'] === true).toSorted(byVariant)
  const isNarrowed = !isSameValue(KIND, 'allowedScopes', allowedScopes, declaredScopes)
  const fields = {
    document: await platform.text(`/v1/openapispecs/${String(active?.['specification'])}/content`),
    backend: backendSource === 'document' ? undefined : toInput(backend as Fields),
    transform,
    allowedScopes: isNarrowed ? allowedScopes : undefined,
    policy: policy.body,
    declarations: await mapInParallel(inForce, ({ id }) => platform.text(`/v1/openslaspecs/${String(id)}/content`)),
    labels: own['labels'],
  }
  return {
    kind: KIND,
    name: api,
    fields: withoutNothing(fields),
    id: api,
    tags: [tag, proxy.tag, policy.tag, proxyId],
    defaults: { allowedScopes },
  }
}

/** Returns a backend as a request gives it. */
function toInput({ tls, ...backend }: Fields): Fields {
  if (!isFields(tls)) return backend
  const { hasKey: _hasKey, ...rest } = tls
  return { ...backend, tls: rest }
}

function byVariant(one: Fields, other: Fields): number {
  return String(one['variant']) < String(other['variant']) ? -1 : 1
}

async function changeSettings(
  { platform }: Context,
  { name, fields }: Resource,
  changed: ReadonlySet<string>,
  found: Found | null,
): Promise<void> {
  const [apiTag, , policyTag] = found?.tags ?? []
  const { policy, labels } = fields
  if (labels !== undefined && changed.has('labels')) {
    await platform.send('PATCH', `/v1/apis/${name}`, { labels: labels ?? {} }, apiTag)
  }
  if (policy !== undefined && changed.has('policy')) {
    const whole = { ...(found?.fields['policy'] as Fields | undefined), ...(policy as Fields) }
    await platform.send('PUT', `/v1/apis/${name}/policy`, whole, policyTag)
  }
}

/** Publishes the declarations that the service does not have. */
async function declare(context: Context, { name, fields }: Resource, found: Found | null): Promise<void> {
  const declared = new Set((found?.fields['declarations'] ?? []) as readonly string[])
  for (const path of (fields['declarations'] ?? []) as readonly string[]) {
    const text = context.readFile(path)
    const specification = Buffer.from(text).toString('base64')
    if (!declared.has(text)) await context.platform.send('POST', '/v1/openslaspecs', { api: name, specification })
  }
}
