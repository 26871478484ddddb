/**
 * Chooses the backend of a new document: that of the request, else that of the active revision, else `servers[0]` of the
 * document.
 *
 * The backend of the active revision applies as long as `servers[0]` is unchanged or missing, so that a new document cannot
 * silently send calls to another backend.
 */

import { toBackend, type BackendInput } from './backend-address.ts'
import type { Deployment } from './proxy-document.ts'

export type BackendSource = 'request' | 'activeRevision' | 'document'

export interface BackendChoiceOptions {
  /** Null: that of the document. */
  readonly input: BackendInput | null | undefined
  /** `servers[0].url` of the document; null if it is not absolute. */
  readonly serverUrl: string | null
  /** The active revision, with `servers[0].url` of its document. */
  readonly serving: { readonly backend: Deployment['backend']; readonly serverUrl: string | null } | null
}

export interface BackendChoice {
  readonly backend: Deployment['backend']
  readonly backendSource: BackendSource
}

/** Throws a `Problem` if neither the request nor the document has a usable URL. */
export function chooseBackend({ input, serverUrl, serving }: BackendChoiceOptions): BackendChoice {
  if (input !== undefined && input !== null) return { backend: toBackend(input, null), backendSource: 'request' }
  if (input !== null && serving !== null && (serverUrl === null || serverUrl === serving.serverUrl)) {
    const { url, targets } = serving.backend
    const isOfDocument = targets === undefined && url === serverUrl
    return { backend: serving.backend, backendSource: isOfDocument ? 'document' : 'activeRevision' }
  }
  return { backend: toBackend(undefined, serverUrl), backendSource: 'document' }
}
