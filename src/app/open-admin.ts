/** The admin credential at startup: created at the first start, or set by the settings. */

import { createFirstAdmin, type FirstAdmin, type FirstAdminOptions } from '../control/access/first-admin.ts'
import type { Config } from './config.ts'
import type { Log } from '../foundation/runtime/log.ts'

export interface OpenAdminOptions extends Omit<FirstAdminOptions, 'tenant' | 'chosen'> {
  readonly config: Config
  readonly log: Log
  /** The registry can only be read: other credentials than those in it are not taken over. */
  readonly isReadOnly: boolean
}

/** A new `ADMIN_CLIENT_ID` replaces and revokes the earlier admin credentials; the log names them. */
export async function openAdmin({ config, log, isReadOnly, ...options }: OpenAdminOptions): Promise<FirstAdmin> {
  const { adminTenant: tenant, adminClientId: clientId, adminClientSecret: clientSecret } = config
  const isChosen = clientId !== null && clientSecret !== null && !isReadOnly
  const chosen = isChosen ? { clientId, clientSecret } : null
  const admin = await createFirstAdmin({ ...options, tenant, chosen })
  if (admin.replaced.length > 0) {
    log.warn(
      { clientId, revoked: admin.replaced },
      'ADMIN_CLIENT_ID is new: it replaces the previous admin credentials, which are revoked',
    )
  }
  return admin
}
