/** The first page: what needs attention now, the places that people open most, and the traffic. Each part only for those who may see it. */

import { Page } from '../../parts/page.tsx'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Attention } from './attention.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { Traffic } from './traffic.tsx'
import './overview.css'

export function Overview() {
  const maySeeLevels = scopes.value.has('apis:read')
  return (
    <Page title={texts.overview.title}>
      {may('attention:read') && <Attention />}
      <Shortcuts />
      {(may('usage:read') || maySeeLevels) && <Traffic hasUsage={may('usage:read')} hasLevels={maySeeLevels} />}
    </Page>
  )
}
