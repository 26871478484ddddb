/** Resolvers of references for Spectral's engine. Neither of them fetches anything. */

import refResolver from '@stoplight/spectral-ref-resolver'
import type { Fields } from '../../../foundation/json/fields.ts'

export interface Resolver {
  readonly uriCache: object
  resolve(document: unknown, options: { readonly baseUri?: string }): Promise<object>
}

/** Expands references within the document. */
export function resolving(): Resolver {
  return new refResolver.Resolver({ resolvers: {} }) as unknown as Resolver
}

/** Leaves references as they are, for rules that check a document unresolved. */
export function keeping(): Resolver {
  return {
    uriCache: {},
    resolve: (document, { baseUri = '' }) => {
      const references = [...referencesIn(document)].map((reference) => `${baseUri}${reference}`)
      const graph = { overallOrder: () => references, getNodeData: () => ({ refMap: {} }) }
      return Promise.resolve({ result: document, graph, errors: [], refMap: {} })
    },
  }
}

function referencesIn(document: unknown): ReadonlySet<string> {
  const found = new Set<string>()
  const open: unknown[] = [document]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue
    const reference = (value as Fields)['$ref']
    if (typeof reference === 'string') found.add(reference)
    for (const inner of Object.values(value)) if (inner !== undefined) open.push(inner)
  }
  return found
}
