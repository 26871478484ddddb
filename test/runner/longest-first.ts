/** Runs the projects in the order of the configuration, and of each the files with the largest CPU budget first: short ones fill the end. */

import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { readBudget } from './cpu-budget.ts'

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const budget = readBudget()
    const order = this.ctx.projects.map(({ name }) => name)
    const rank = ({ project, moduleId }: TestSpecification): readonly [number, number] => [
      order.indexOf(project.name),
      -(budget[this.#relative(moduleId)] ?? 0),
    ]
    return files.toSorted((a, b) => {
      const [first, second] = [rank(a), rank(b)]
      return first[0] - second[0] || first[1] - second[1]
    })
  }

  #relative(moduleId: string): string {
    return moduleId.slice(this.ctx.config.root.length + 1)
  }
}
