/**
 * APIs with their active document, backend, policy and declarations.
 *
 * In a folder, `document` and `declarations` are paths of files; of the service they are the texts. Staged revisions and retired
 * APIs are left out, and a declaration is superseded but never removed.
 */

import type { Context, Handler } from './handler.ts'
import { Refused } from './platform.ts'
import type { Fields, Found, Resource } from './resource.ts'
import { mapInParallel, withoutNothing } from './simple-handler.ts'

const KIND = 'api'
const PLATFORM_API = 'platform-v1'
const PRECONDITION_FAILED = 412
const CHANGED = 'The API has changed since it was read.'
/** Changed together, by a new revision. */
const REVISED = ['document', 'backend', 'allowedScopes']

export function createApiHandler(): Handler {
  return {
    kind: KIND,
    fields: [...REVISED, 'policy', 'declarations', 'labels'],
    nameOf: ({ name }) => (typeof name === 'string' ? name : null),
    async read(context) {
      const proxies = new Map((await context.platform.list('/v1/proxies')).map((proxy) => [proxy['api'], proxy]))
      const apis = (await context.platform.list('/v1/apis')).filter(({ id, state }) => {
        return id !== PLATFORM_API && state !== 'Retired' && typeof proxies.get(id)?.['activeRevision'] === 'number'
      })
      return mapInParallel(apis, ({ id }) => readApi(context, String(id), String(proxies.get(id)!['id'])))
    },
    async create(context, wanted) {
      await deploy(context, wanted, null)
      await complete(context, wanted, new Set(['policy', 'labels', 'declarations']))
      return null
    },
    async change(context, found, wanted, changed) {
      if (REVISED.some((field) => changed.has(field))) await deploy(context, wanted, found)
      await complete(context, wanted, changed, found)
      return null
    },
    async remove({ platform }, found) {
      await platform.send('DELETE', `/v1/apis/${found.id}`, undefined, found.tags[0])
    },
    isSame(context, field, found, wanted) {
      if (field === 'document') return found === context.readFile(String(wanted))
      const declared = new Set((found ?? []) as readonly string[])
      return (wanted as readonly string[]).every((path) => declared.has(context.readFile(path)))
    },
  }
}

async function readApi({ platform }: Context, api: string, proxyId: string): Promise<Found> {
  const [{ body: own, tag }, proxy, policy, revisions, declarations] = await Promise.all([
    platform.get(`/v1/apis/${api}`),
    platform.get(`/v1/proxies/${proxyId}`),
    platform.get(`/v1/apis/${api}/policy`),
    platform.list(`/v1/proxies/${proxyId}/revisions`),
    platform.list(`/v1/openslaspecs?api=${api}`),
  ])
  const { activeRevision, backendSource, backend, allowedScopes } = proxy.body
  const active = revisions.find(({ revision }) => revision === activeRevision)
  const inForce = declarations.filter((each) => each['inForce'] === true).toSorted(byVariant)
  const fields = {
    document: await platform.text(`/v1/openapispecs/${String(active?.['specification'])}/content`),
    backend: backendSource === 'request' ? backend : undefined,
    allowedScopes,
    policy: policy.body,
    declarations: await mapInParallel(inForce, ({ id }) => platform.text(`/v1/openslaspecs/${String(id)}/content`)),
    labels: own['labels'],
  }
  return { kind: KIND, name: api, fields: withoutNothing(fields), id: api, tags: [tag, proxy.tag, policy.tag, proxyId] }
}

function byVariant(one: Fields, other: Fields): number {
  return String(one['variant']) < String(other['variant']) ? -1 : 1
}

/** Stages and activates a revision of the wanted document, or of the active one with other settings. */
async function deploy(context: Context, { name, fields }: Resource, found: Found | null): Promise<void> {
  const { platform } = context
  const { document, backend, allowedScopes } = fields
  if (found !== null) await refuseIfChanged(context, found)
  const text = document === undefined ? String(found?.fields['document']) : context.readFile(String(document))
  const scopes = allowedScopes ?? found?.fields['allowedScopes']
  const ownBackend = backend ?? found?.fields['backend']
  const { body: staged } = await platform.send('POST', '/v1/proxies', {
    api: name,
    specification: Buffer.from(text).toString('base64'),
    ...(ownBackend !== undefined && { backend: ownBackend }),
    ...(scopes !== undefined && { allowedScopes: scopes }),
  })
  const path = `/v1/proxies/${String(staged['id'])}`
  const { body, tag } = await platform.get(path)
  if (body['stagingRevision'] !== staged['stagingRevision']) throw new Refused(PRECONDITION_FAILED, CHANGED)
  await platform.send('POST', `${path}/activate`, {}, tag)
}

/** A staged revision has no precondition, so the proxy is read again. */
async function refuseIfChanged({ platform }: Context, { tags }: Found): Promise<void> {
  const [, proxyTag, , proxyId] = tags
  const { tag } = await platform.get(`/v1/proxies/${proxyId}`)
  if (tag !== proxyTag) throw new Refused(PRECONDITION_FAILED, CHANGED)
}

async function complete(
  context: Context,
  { name, fields }: Resource,
  changed: ReadonlySet<string>,
  found?: Found,
): Promise<void> {
  const { platform } = context
  const [apiTag, , policyTag] = found?.tags ?? []
  const { policy, labels, declarations } = fields
  if (policy !== undefined && changed.has('policy')) {
    const whole = { ...(found?.fields['policy'] as Fields | undefined), ...(policy as Fields) }
    await platform.send('PUT', `/v1/apis/${name}/policy`, whole, policyTag)
  }
  if (declarations !== undefined && changed.has('declarations')) {
    const declared = new Set((found?.fields['declarations'] ?? []) as readonly string[])
    for (const path of declarations as readonly string[]) {
      const text = context.readFile(path)
      const specification = Buffer.from(text).toString('base64')
      if (!declared.has(text)) await platform.send('POST', '/v1/openslaspecs', { api: name, specification })
    }
  }
  // A new revision may have changed the tag of the API.
  const tag = changed.has('document') ? undefined : apiTag
  if (labels !== undefined && changed.has('labels')) await platform.send('PATCH', `/v1/apis/${name}`, { labels }, tag)
}
