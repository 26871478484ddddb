/** Upgrades proxies of earlier versions, once for each registry. */

import type { Registry } from '../../storage/store/registry.ts'
import { areBackendsExempted, exemptOldBackends } from './exempt-backends.ts'
import { migrateOldProxies } from './revision-zero.ts'

/** Before plans are made of them. `tenant` is the tenant of the operator. */
export async function upgradeProxies(registry: Registry, tenant: string): Promise<void> {
  // It is the later one of the two, and no version has written the form of proxies without revisions since.
  if (await areBackendsExempted(registry)) return
  await migrateOldProxies(registry)
  await exemptOldBackends(registry, tenant)
}
