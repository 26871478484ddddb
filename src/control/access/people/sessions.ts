/** Sessions of people, as the API shows them. */

import type { Page, PageQuery } from '../../command/page.ts'
import type { Author } from '../../../storage/store/registry.ts'

export interface Session {
  readonly id: string
  readonly clientId: string
  /** Null: an API of the product of the client. */
  readonly api: string | null
  readonly loggedInAt: string
  /** When the client last got an access token. */
  readonly lastUsedAt: string
  /** Unless it is used before, if the client has a refresh token. */
  readonly expiresAt: string
}

export interface Sessions {
  list(tenant: string, person: string, query: PageQuery): Promise<Page<Session>>
  /** Resolves when every gateway thread refuses the tokens of the session. Throws `Problem('not_found')`. */
  end(author: Author, person: string, id: string): Promise<void>
}
