/** The page of an API: its head, and the tab that the address names. */

import { useRead } from '../../api/use-read.ts'
import { Page, Tabs } from '../../parts/page.tsx'
import { Loaded, NotFound } from '../../parts/states.tsx'
import { State } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { Api } from './api-tab.ts'
import { TABS } from './tabs.ts'

const NOT_FOUND = 404

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
    <Page
      title={name}
      state={reading.data !== null && <State of={reading.data.state} />}
      actions={reading.data !== null && <Actions api={reading.data} />}
    >
      {reading.problem?.status !== NOT_FOUND && (
        <Tabs
          label={texts.apis.tabs.label(name)}
          base={`${BASE}apis/${encodeURIComponent(name)}`}
          tabs={tabs.map(({ path, title }) => ({ path: path === '' ? '' : `/${path}`, title }))}
          current={tab === '' ? '' : `/${tab}`}
        />
      )}
      <Loaded reading={reading}>
        {(api) => (current === undefined ? <NotFound /> : <current.View api={api} reload={reading.reload} />)}
      </Loaded>
    </Page>
  )
}

/** The platform itself has no document that could be replaced. */
const PLATFORM = 'platform-v1'

function Actions({ api: { id, state } }: { readonly api: Api }) {
  const url = `${BASE}apis/${encodeURIComponent(id)}`
  const isServing = state === 'Active' || state === 'Deprecated'
  if (id === PLATFORM) return null
  return (
    <>
      {isServing && (
        <a class="button" href={`${url}/documentation`}>
          {texts.apis.read}
        </a>
      )}
      {state !== 'Retired' && may('proxies:write') && (
        <a class="button" href={`${url}/revisions/new`}>
          {texts.apis.revisions.stage}
        </a>
      )}
    </>
  )
}
