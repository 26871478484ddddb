/** Schemas of real documents, each with the components that it refers to. */

import { REAL_DOCUMENTS, readRealDocument } from '../../../../fixtures/real-documents.ts'
import type { Random } from '../../../../random.ts'
import { pick, randomDocument, type Json, type RandomDocument } from './random-schemas.ts'

/** Publishers with schemas of different styles. */
const NAMES = [
  'adyen.com/CheckoutService-v71',
  'apache.org/airflow',
  'asana.com',
  'bitbucket.org',
  'box.com',
  'docker.com/engine',
  'jellyfin.local',
  'kubernetes.io',
  'openai.com',
  'spotify.com',
  'twitter.com/current',
  'vercel.com',
]
const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g
const COMPONENTS_MAX = 25
const LENGTH_MAX = 15_000
const ATTEMPTS_MAX = 30

interface Source {
  readonly schemas: Json
  readonly dialect: '3.0' | '3.1'
}

const sources = new Map<string, Source>()

function read(name: string): Source {
  let known = sources.get(name)
  if (known === undefined) {
    const found = REAL_DOCUMENTS.find((each) => each.name === name)!
    const { openapi, components } = JSON.parse(String(readRealDocument(found))) as Json
    const { schemas } = components as { schemas: Json }
    known = { schemas, dialect: String(openapi).startsWith('3.0') ? '3.0' : '3.1' }
    sources.set(name, known)
  }
  return known
}

/** A component with the components that it leads to; their number and size are bounded. */
export function realDocument(random: Random): RandomDocument {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const { schemas, dialect } = read(pick(random, NAMES))
    const name = pick(random, Object.keys(schemas))
    const found = withReferences(schemas, name)
    if (found !== null) {
      // Those that edits refer to.
      const { components } = randomDocument(random)
      return {
        components: { schemas: { ...components.schemas, ...found } },
        schema: { $ref: `#/components/schemas/${name}` },
        dialect,
      }
    }
  }
  throw new Error('the real documents have no small schemas')
}

/** Returns null if the schema leads to too many others. */
function withReferences(schemas: Json, start: string): Json | null {
  const names = new Set([start])
  let length = 0
  for (const name of names) {
    const text = JSON.stringify(schemas[name] ?? {})
    length += text.length
    for (const [, inner = ''] of text.matchAll(REFERENCE)) names.add(inner)
    if (names.size > COMPONENTS_MAX || length > LENGTH_MAX) return null
  }
  return structuredClone(Object.fromEntries([...names].map((name) => [name, schemas[name] ?? {}])))
}
