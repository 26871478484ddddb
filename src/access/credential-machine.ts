/**
 * A credential, from its making to its end.
 *
 *   Active ──expiring──▶ Expiring ──expired──▶ Expired
 *     │ └──────────────────expired────────────────▲
 *     └──revoked──▶ Revoked ◀──revoked── Expiring
 *
 * Time enters by events: that a credential is near its end is told, and told again, while it is Expiring.
 */

import { setup } from 'xstate'

export type CredentialState = 'Active' | 'Expiring' | 'Expired' | 'Revoked'

export type CredentialEvent = { readonly type: 'expiring' | 'expired' | 'revoked' }

export const credential = setup({
  types: {} as { events: CredentialEvent },
}).createMachine({
  id: 'credential',
  initial: 'Active',
  states: {
    Active: { on: { expiring: 'Expiring', expired: 'Expired', revoked: 'Revoked' } },
    Expiring: { on: { expiring: 'Expiring', expired: 'Expired', revoked: 'Revoked' } },
    Expired: { type: 'final' },
    Revoked: { type: 'final' },
  },
})
