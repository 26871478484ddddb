/** The two views of the process. */

import { path } from '../../router.ts'
import { Health } from './health.tsx'
import { SettingsInForce } from './settings-in-force.tsx'

export function Process() {
  return path.value === 'settings/health' ? <Health /> : <SettingsInForce />
}
