/**
 * The form of an OpenAPI document for the consumers of the API: JSON, without the addresses of backends and without extensions, which
 * are for the provider and the gateway.
 */

import { parseDocumentBytes } from '../governance/parse-document.ts'

/** Objects whose members are named by the document, so that `x-…` and `servers` are names there. */
const NAMED = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'mapping', 'variables'],
  ...['schemas', 'responses', 'parameters', 'examples', 'requestBodies', 'headers', 'securitySchemes', 'links'],
  ...['callbacks', 'pathItems', 'paths', 'content', 'encoding', 'scopes', 'webhooks'],
])
/** Values of the document, which are shown as they are. */
const VALUES = new Set(['example', 'default', 'const', 'enum', 'value'])

/** Throws if the document cannot be parsed; the service has accepted it before. */
export async function toPublicDocument(bytes: Uint8Array): Promise<Uint8Array> {
  const parsed = parseDocumentBytes(bytes)
  if (!('value' in parsed)) throw new Error('a document that serves cannot be parsed')
  return Buffer.from(JSON.stringify(withoutPrivate(parsed.value, false)))
}

function withoutPrivate(value: unknown, isNamed: boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutPrivate(each, false))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => isNamed || !(name === 'servers' || name.startsWith('x-')))
  return Object.fromEntries(
    members.map(([name, each]) => [
      name,
      !isNamed && VALUES.has(name) ? each : withoutPrivate(each, !isNamed && NAMED.has(name)),
    ]),
  )
}
