/** The catalogue: every API of the organisation. */

import { useRead } from '../../api/use-read.ts'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { State } from '../../parts/values.tsx'
import { Page } from '../../parts/page.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Pages } from '../../parts/pages.tsx'

const { columns, title, none } = texts.apis

export function Catalogue() {
  const reading = useRead('/v1/apis', { query: Pages.query() })
  return (
    <Page title={title}>
      <Loaded reading={reading}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty text={none} commands={['tollgate proxies deploy orders-v1 --specification openapi.yaml']} />
          ) : (
            <>
              <Table
                caption={title}
                keyOf={({ id }) => id}
                rows={items}
                columns={[
                  { title: columns.name, cell: ({ id }) => <a href={`${BASE}apis/${encodeURIComponent(id)}`}>{id}</a> },
                  { title: columns.title, cell: (row) => <bdi>{row.title}</bdi> },
                  { title: columns.version, cell: ({ version }) => version },
                  { title: columns.state, cell: ({ state }) => <State of={state} /> },
                ]}
              />
              <Pages.Next cursor={next} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}
