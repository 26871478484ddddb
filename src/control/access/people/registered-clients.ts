/** Clients that registered themselves (RFC 7591), as the API shows them. */

import type { Page, PageQuery } from '../../command/page.ts'
import type { Author } from '../../../storage/store/registry.ts'

export interface RegisteredClientView {
  readonly id: string
  /** The name that the client gave itself; `''` if it gave none. */
  readonly name: string
  readonly api: string
  readonly redirectUris: readonly string[]
  readonly registeredAt: string
  /** When a person last allowed the client access, to the day; null: never. */
  readonly lastUsedAt: string | null
  /** Unless it is used before. */
  readonly expiresAt: string
}

export interface RegisteredClients {
  list(tenant: string, query: PageQuery): Promise<Page<RegisteredClientView>>
  /** Resolves when every gateway thread refuses the tokens of the client. Throws `Problem('not_found')`. */
  remove(author: Author, id: string): Promise<void>
}
