/** The page of an API: its head, and the tab that the address names. */

import { useRead } from '../../api/use-read.ts'
import { Page, Tabs } from '../../parts/page.tsx'
import { Loaded, NotFound } from '../../parts/states.tsx'
import { State } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { TABS } from './tabs.ts'

interface ApiPageProps {
  readonly name: string
  /** The path below that of the API. */
  readonly tab: string
}

export function ApiPage({ name, tab }: ApiPageProps) {
  const reading = useRead('/v1/apis/:name', { params: { name } })
  const tabs = TABS.filter(({ scope }) => may(scope))
  const current = tabs.find(({ path }) => path === tab)
  return (
    <Page title={name} state={reading.data !== null && <State of={reading.data.state} />}>
      <Tabs
        label={texts.apis.tabs.label(name)}
        base={`${BASE}apis/${encodeURIComponent(name)}`}
        tabs={tabs.map(({ path, title }) => ({ path: path === '' ? '' : `/${path}`, title }))}
        current={tab === '' ? '' : `/${tab}`}
      />
      <Loaded reading={reading}>
        {(api) => (current === undefined ? <NotFound /> : <current.View api={api} reload={reading.reload} />)}
      </Loaded>
    </Page>
  )
}
