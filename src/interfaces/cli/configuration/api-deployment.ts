/** Stages and activates a revision of an API, unless the API has changed since it was read. */

import { withoutUnset } from './backend-secrets.ts'
import type { Context } from './handler.ts'
import { Refused } from './platform.ts'
import { isFields, isNothing, type Fields, type Found, type Resource } from './resource.ts'

const PRECONDITION_FAILED = 412

/** Deploys the wanted document, or the active one with other settings. `found`: null for a new API. */
export async function deployRevision(context: Context, { name, fields }: Resource, found: Found | null): Promise<void> {
  const { platform } = context
  const { document, backend, transform, allowedScopes } = fields
  const before = found === null ? null : await readUnchanged(context, found)
  const text = document === undefined ? String(found?.fields['document']) : context.readFile(String(document))
  const newBackend = backendIn(backend, found?.fields['backend'] ?? undefined)
  const scopes = allowedScopes === undefined ? (found?.fields['allowedScopes'] ?? null) : allowedScopes
  const { body: staged } = await platform.send('POST', '/v1/proxies', {
    api: name,
    specification: Buffer.from(text).toString('base64'),
    ...(newBackend !== undefined && { backend: newBackend }),
    ...(transform !== undefined && { transform }),
    // Without them, the API allows all scopes that its document declares.
    ...(scopes !== null && { allowedScopes: scopes }),
  })
  const path = `/v1/proxies/${String(staged['id'])}`
  const { body, tag } = await platform.get(path)
  const isOurs = body['stagingRevision'] === staged['stagingRevision']
  if (!isOurs || (before !== null && body['activeRevision'] !== before['activeRevision'])) throw hasChanged()
  await platform.send('POST', `${path}/activate`, {}, tag)
}

/** Returns the backend to send. Null: that of the document. Undefined: the service keeps the one that it has. */
function backendIn(wanted: unknown, before: unknown): unknown {
  if (wanted === undefined) return before
  return isFields(wanted) ? mergeBackend(before, withoutUnset(wanted)) : null
}

/** A backend has either a URL or targets: that of the file replaces the other. Empty `tls` and `secretHeaders` remove those. */
function mergeBackend(before: unknown, wanted: Fields): Fields {
  const { url, targets, balance, ...kept } = isFields(before) ? before : {}
  const address = 'url' in wanted ? {} : 'targets' in wanted ? { balance } : { url, targets, balance }
  const { tls, secretHeaders, ...merged }: Fields = { ...address, ...kept, ...wanted }
  return { ...merged, ...(!isNothing(tls) && { tls }), ...(!isNothing(secretHeaders) && { secretHeaders }) }
}

/** Staging has no precondition, so the proxy is read again before and after it. */
async function readUnchanged({ platform }: Context, { tags }: Found): Promise<Readonly<Record<string, unknown>>> {
  const [, proxyTag, , proxyId] = tags
  const { body, tag } = await platform.get(`/v1/proxies/${proxyId}`)
  if (tag !== proxyTag) throw hasChanged()
  return body
}

function hasChanged(): Refused {
  return new Refused(PRECONDITION_FAILED, 'The API has changed since it was read.')
}
