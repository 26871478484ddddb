/**
 * APIs with their active document, backend, policy and declarations.
 *
 * In a folder, `document` and `declarations` are paths of files; of the service they are the texts. Staged revisions and retired
 * APIs are left out, and a declaration is superseded but never removed.
 */

import { isDeepStrictEqual } from 'node:util'
import { isStoredAs } from '../gate/stored-text.ts'
import { deployRevision } from './api-deployment.ts'
import { secretsFault } from './backend-secrets.ts'
import type { Context, Handler } from './handler.ts'
import { explicit, isFields, type Fields, type Found, type Resource } from './resource.ts'
import { isSameValue } from './same-value.ts'
import { mapInParallel } from './simple-handler.ts'

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
      for (const api of [PLATFORM_API, ...apis.map(({ id }) => String(id))]) context.names.add(KIND, api, api)
      for (const scope of apis.flatMap(({ id }) => proxies.get(id)!['declaredScopes'] as readonly string[])) {
        context.names.add('scope', scope, scope)
      }
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
      return changed.has('declarations') ? declare(context, wanted, found) : null
    },
    async remove({ platform }, found) {
      await platform.send('DELETE', `/v1/apis/${found.id}`, undefined, found.tags[0])
    },
    isSame(context, field, { fields, defaults }, wanted) {
      switch (field) {
        case 'document':
          return isStoredAs(String(fields[field]), context.readFile(String(wanted)))
        case 'declarations': {
          const texts = (wanted as readonly string[]).map((path) => context.readFile(path))
          return isSameValue(KIND, field, fields[field], texts)
        }
        case 'allowedScopes':
          return wanted === null ? fields[field] === null : isDeepStrictEqual(toSet(defaults?.[field]), toSet(wanted))
        default:
          return null
      }
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
  if (backend !== null && !isFields(backend)) return 'backend must be an object.'
  const fault = backend === null ? null : secretsFault(backend)
  if (fault !== null) return fault
  if (transform !== null && !isFields(transform)) return 'transform must be an object.'
  if (!isFields(policy)) return 'policy must be an object.'
  return allowedScopes === null || isTexts(allowedScopes) ? null : 'allowedScopes must be a list of scopes.'
}

function toSet(scopes: unknown): ReadonlySet<unknown> {
  return new Set(scopes as readonly unknown[])
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
  const isNarrowed = !isDeepStrictEqual(toSet(allowedScopes), toSet(declaredScopes))
  const fields = {
    document: await platform.text(`/v1/openapispecs/${String(active?.['specification'])}/content`),
    backend: backendSource === 'document' ? null : toInput(backend as Fields),
    transform,
    policy: policy.body,
    declarations: await mapInParallel(inForce, ({ id }) => platform.text(`/v1/openslaspecs/${String(id)}/content`)),
    labels: own['labels'],
  }
  return {
    kind: KIND,
    name: api,
    // No scopes are not the same as all that the document declares, which is null.
    fields: { ...explicit(KIND, fields), allowedScopes: isNarrowed ? allowedScopes : null },
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
    await platform.send('PATCH', `/v1/apis/${name}/policy`, policy, policyTag)
  }
}

/** Publishes the declarations that the service does not have. Returns what remains to be done; null: nothing. */
async function declare(context: Context, { name, fields }: Resource, found: Found | null): Promise<string | null> {
  const { platform, readFile } = context
  const wanted = ((fields['declarations'] ?? []) as readonly string[]).map((path) => readFile(path))
  const declared = new Set((found?.fields['declarations'] ?? []) as readonly string[])
  for (const text of wanted) {
    const specification = Buffer.from(text).toString('base64')
    if (!declared.has(text)) await platform.send('POST', '/v1/openslaspecs', { api: name, specification })
  }
  const inForce = (await platform.list(`/v1/openslaspecs?api=${name}`)).filter((each) => each['inForce'] === true)
  const others = inForce.length - wanted.length
  return others > 0 ? `${others} more in force, because a declaration is never removed` : null
}
