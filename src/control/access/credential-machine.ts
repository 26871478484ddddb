/**
 * The states of a credential.
 *
 *   Active ──expiring──▶ Expiring ──expired──▶ Expired
 *     │ └──────────────────expired────────────────▲
 *     └──revoked──▶ Revoked ◀──revoked── Expiring
 *
 * The machine has no timers: events carry the time. `expiring` may be sent again while the state is Expiring.
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
