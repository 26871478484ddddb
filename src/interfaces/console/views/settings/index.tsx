/** Settings: the own account, and the organisation for those who administer it. */

import type { FunctionComponent } from 'preact'
import { NotFoundPage } from '../../parts/states.tsx'
import { BASE, segment } from '../../router.ts'
import { Page } from '../../parts/page.tsx'
import { scopes } from '../../shell/person.ts'
import { maySee, SETTINGS } from '../../shell/subsections.ts'
import { texts } from '../../texts.ts'
import { AuditLog } from './audit.tsx'
import { Health } from './health.tsx'
import { IdentityProviders } from './identity-providers.tsx'
import { MyAccount } from './me.tsx'
import { Nodes } from './nodes.tsx'
import { Organisations } from './organisations.tsx'
import { People } from './people.tsx'
import { PortalSettings } from './portal.tsx'
import { Roles } from './roles.tsx'
import { SettingsInForce } from './settings-in-force.tsx'
import { SigningKeys } from './signing-keys.tsx'
import './settings.css'

const VIEWS: Readonly<Record<string, FunctionComponent<{ readonly id: string }>>> = {
  me: MyAccount,
  people: People,
  roles: Roles,
  'identity-providers': IdentityProviders,
  'signing-keys': SigningKeys,
  organisations: Organisations,
  audit: AuditLog,
  portal: PortalSettings,
  'in-force': SettingsInForce,
  health: Health,
  nodes: Nodes,
}

export function Settings() {
  const name = segment(1)
  const id = segment(2)
  if (name === '') return <Start />
  const entry = SETTINGS.find((each) => each.path === `settings/${name}`)
  const View = entry !== undefined && maySee(entry, scopes.value) ? VIEWS[name] : undefined
  return View === undefined ? <NotFoundPage /> : <View key={id} id={id} />
}

function Start() {
  return (
    <Page title={texts.settings.title}>
      <ul class="cards">
        {SETTINGS.filter((each) => each.isHidden !== true && maySee(each, scopes.value)).map((each) => (
          <li key={each.path}>
            <a href={BASE + each.path}>{each.title}</a>
          </li>
        ))}
      </ul>
    </Page>
  )
}
