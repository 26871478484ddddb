/** Sessions of people, as the API shows them. */

import type { Page, PageQuery } from '../../command/page.ts'

export interface Session {
  readonly id: string
  readonly clientId: string
  /** Null: an API of the product of the client. */
  readonly api: string | null
  readonly loggedInAt: string
  readonly expiresAt: string
}

export interface Sessions {
  /** A page may have fewer items than its limit, because sessions that have ended are left out. */
  list(tenant: string, person: string, query: PageQuery): Promise<Page<Session>>
}
