/** A list of the platform API as a table with pages: the service pages and filters, and the address holds both. */

import type { ReadOptions } from '../api/client.ts'
import type { Item, ListPath } from '../api/operations.ts'
import { useRead, type Reading } from '../api/use-read.ts'
import { Pages } from './pages.tsx'
import { Empty, Loaded } from './states.tsx'
import { Table, type Column } from './table.tsx'

interface ListProps<Path extends ListPath> {
  readonly path: Path
  readonly params?: ReadOptions['params']
  /** Filters. The page is added. */
  readonly query?: ReadOptions['query']
  readonly caption: string
  readonly columns: readonly Column<Item<Path>>[]
  readonly keyOf: (item: Item<Path>) => string
  readonly empty: { readonly text: string; readonly commands?: readonly string[] }
}

export function List<Path extends ListPath>({ path, params = {}, query = {}, ...shown }: ListProps<Path>) {
  const reading = useRead(path, { params, query: { ...query, ...Pages.query() } })
  return <ListOf reading={reading as unknown as Reading<PageOf<Item<Path>>>} {...shown} />
}

interface PageOf<Row> {
  readonly items: readonly Row[]
  readonly next?: string | null
}

interface ListOfProps<Row> extends Pick<ListProps<ListPath>, 'caption' | 'empty'> {
  readonly reading: Reading<PageOf<Row>>
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
}

/** For a view that needs the reading as well, such as one that reads again after a change. */
export function ListOf<Row>({ reading, caption, columns, keyOf, empty }: ListOfProps<Row>) {
  return (
    <Loaded reading={reading}>
      {({ items, next }) =>
        items.length === 0 ? (
          <Empty {...empty} />
        ) : (
          <>
            <Table caption={caption} columns={columns} rows={items} keyOf={keyOf} />
            <Pages.Next cursor={next ?? null} />
          </>
        )
      }
    </Loaded>
  )
}
