/** Applications and agents that call APIs. */

import { useRead } from '../../api/use-read.ts'
import { Pages } from '../../parts/pages.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { Page } from '../../parts/page.tsx'
import { texts } from '../../texts.ts'

const { columns, title, none } = texts.consumers

export function Consumers() {
  const reading = useRead('/v1/consumers', { query: Pages.query() })
  return (
    <Page title={title}>
      <Loaded reading={reading}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty text={none} commands={['tollgate consumers create --name "Mobile app" --kind application']} />
          ) : (
            <>
              <Table
                caption={title}
                keyOf={({ id }) => id}
                rows={items}
                columns={[
                  { title: columns.name, cell: ({ name }) => <bdi>{name}</bdi> },
                  { title: columns.kind, cell: ({ kind }) => kind },
                  { title: columns.state, cell: ({ state }) => <State of={state} /> },
                  { title: columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
                  { title: columns.id, cell: ({ id }) => <Id value={id} /> },
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
