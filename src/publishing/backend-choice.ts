/**
 * Chooses the backend of a new document: what the request names, else what the active revision uses, else the document's
 * `servers[0]`.
 *
 * A backend that was named once stays while the document keeps its `servers[0]` or names none: a new document does not point an
 * API at another backend without saying so.
 */

import { toBackend, type BackendInput } from './backend-address.ts'
import type { Deployment } from './proxy-document.ts'

export type BackendSource = 'request' | 'activeRevision' | 'document'

export interface BackendChoiceOptions {
  readonly input: BackendInput | undefined
  /** `servers[0].url` of the document; null if it is not absolute. */
  readonly serverUrl: string | null
  /** The active revision, with `servers[0].url` of its document. */
  readonly serving: { readonly backend: Deployment['backend']; readonly serverUrl: string | null } | null
}

export interface BackendChoice {
  readonly backend: Deployment['backend']
  readonly backendSource: BackendSource
}

/** Throws `Problem` if no usable address is named. */
export function chooseBackend({ input, serverUrl, serving }: BackendChoiceOptions): BackendChoice {
  if (input !== undefined) return { backend: toBackend(input, null), backendSource: 'request' }
  if (serving !== null && (serverUrl === null || serverUrl === serving.serverUrl)) {
    const isOfDocument = serving.backend.url === serverUrl
    return { backend: serving.backend, backendSource: isOfDocument ? 'document' : 'activeRevision' }
  }
  return { backend: toBackend(undefined, serverUrl), backendSource: 'document' }
}
