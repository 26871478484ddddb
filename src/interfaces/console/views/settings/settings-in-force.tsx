/** The settings of the service, as it was started. They are read only. */

import { useRead } from '../../api/use-read.ts'
import type { Item } from '../../api/operations.ts'
import { Filters, SelectFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { query } from '../../router.ts'
import { texts } from '../../texts.ts'
import './process.css'

type Setting = Item<'/v1/settings'>

const words = texts.settingsInForce
/** There are about 30. */
const SETTINGS_MAX = '500'
const LENGTH_MAX = 120

export function SettingsInForce() {
  const reading = useRead('/v1/settings', { query: { limit: SETTINGS_MAX } })
  const isAll = query.value.get('show') !== 'changed'
  return (
    <Page title={words.title}>
      <p class="quiet">{words.lead}</p>
      <Filters>
        <SelectFilter
          name="show"
          label={words.only}
          options={[
            ['', words.all],
            ['changed', words.onlyChanged],
          ]}
        />
      </Filters>
      <Loaded reading={reading}>
        {({ items }) => <Settings items={items.filter(({ isDefault }) => isAll || !isDefault)} />}
      </Loaded>
    </Page>
  )
}

function Settings({ items }: { readonly items: readonly Setting[] }) {
  const { columns } = words
  if (items.length === 0) return <Empty text={words.none} commands={['tollgate system settings']} />
  return (
    <div class="settings-in-force">
      <Table
        caption={words.title}
        keyOf={({ name }) => name}
        rows={items}
        columns={[
          { title: columns.name, cell: ({ name }) => <code>{name}</code> },
          { title: columns.value, cell: (setting) => <Value setting={setting} /> },
          { title: columns.fallback, cell: ({ fallback }) => <span class="quiet">{fallback}</span> },
          { title: columns.meaning, cell: ({ meaning }) => meaning },
        ]}
      />
    </div>
  )
}

function Value({ setting: { inForce, isDefault, isSecret } }: { readonly setting: Setting }) {
  if (isSecret) return <>{isDefault ? words.unset : words.secret}</>
  if (inForce === null) return <span class="quiet">{words.unset}</span>
  const isLong = inForce.length > LENGTH_MAX
  return (
    <>
      {isLong ? (
        <details>
          <summary>{words.long}</summary>
          <pre tabIndex={0}>{toLines(inForce)}</pre>
        </details>
      ) : (
        <code>
          <bdi>{inForce}</bdi>
        </code>
      )}{' '}
      {!isDefault && <span class="state">{words.changed}</span>}
    </>
  )
}

/** JSON in lines; other text as it is. */
function toLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
