# ruff: noqa
# fmt: off
"""Python that kernels do not have."""

import tile_frontend as T


def break_statement():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in [0, 1]:
                break
              # ^ outside-loop: `break` leaves a loop that is written out iteration by iteration | loop with T.serial


def continue_statement():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in range(4):
                with T.Scope("V"):
                    continue
                  # ^ unsupported-syntax: `continue` here is not supported in a kernel | put it in branches of a loop, or what follows in an `if`


def try_statement():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            try:
          # ^ unsupported-syntax: `try` is not supported in a kernel | kernels have no exceptions: test the condition with `if`
                A[0] = 1
            finally:
                pass


def return_value():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            return cid
          # ^ unsupported-syntax: `return` of a value is not supported in a kernel | write results to a buffer that is passed in


def nested_function():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):

            def f():
          # ^ unsupported-syntax: a nested function is not supported in a kernel | define it outside, with @T.macro or without
                pass


def lambda_expression():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = (lambda *a: 1)()
            #       ^ unsupported-syntax: a lambda with more than plain parameters is not supported in a kernel | write a T.macro


def comprehension_over_a_runtime_range():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = [i for i in range(cid)]
            #               ^ not-a-loop: a comprehension cannot iterate over this T.serial | it runs while the kernel is traced: over a Python list, or a range of known size


def comprehension_with_a_runtime_condition():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = [i for i in range(4) if i > cid]
            #                           ^ runtime-condition: a comprehension chooses while the kernel is traced, but the condition is known only when it runs | write a loop with `if` in its body


def dict_comprehension():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = {i: i for i in (1, 2)}
            #   ^ unsupported-syntax: a dict comprehension is not supported in a kernel | build the dict outside the kernel


def generator_over_a_buffer():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = sum(i for i in A)
            #                     ^ not-a-loop: a comprehension cannot iterate over the buffer `A` | it runs while the kernel is traced: over a Python list, or a range of known size


def walrus():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = (n := 3)
            #       ^ unsupported-syntax: `:=` is not supported in a kernel | assign on a line of its own


def f_string():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            T.printf(f"{1} {cid}")
            #               ^ runtime-value: an f-string is made while the kernel is traced, but found a runtime int32 | print with a format: T.printf("%d\n", x), with %f for floats


def iteration_over_a_buffer():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for x in A:
            #        ^ not-a-loop: a kernel cannot iterate over the buffer `A` | loop with range, T.serial, T.unroll, T.grid, T.Parallel, T.Pipelined or T.Persistent, or over a Python list
                A[0] = 1


def three_names_for_a_pair():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i, j, x in enumerate((1, 2)):
            #   ^ loop-target: an element has 2 values, but there are 3 names | write a name for each value
                A[i] = 1


def loop_with_else():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in range(4):
          # ^ unsupported-syntax: `else` of a loop is not supported | write its statements behind the loop
                A[i] = 1
            else:
                A[0] = 1


def loop_with_step():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in range(0, 8, cid):
            #                    ^ loop-step: a step of T.serial is a runtime int32, expected a Python int
                A[i] = 1


def import_statement():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            import math
          # ^ unsupported-syntax: `import` is not supported in a kernel | import at the top of the file


def delete_statement():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            del cid
          # ^ unsupported-syntax: `del` is not supported in a kernel | leave it out: memory is free behind the last use of a buffer


def raise_statement():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            raise ValueError
          # ^ unsupported-syntax: `raise` is not supported in a kernel | write T.device_assert(condition), or check before the kernel


def match_statement():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            match 1:
          # ^ unsupported-syntax: `match` is not supported in a kernel | write if / elif / else
                case 1:
                    A[0] = 1


def attribute_assignment():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A.name = 1
          # ^ unsupported-syntax: this target is not supported in a kernel | assign to names and elements


def starred_target():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a, *b = (1, 2, 3)
            #  ^ unsupported-syntax: a starred target is not supported in a kernel | assign to names and elements


def with_a_number():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            with cid:
            #    ^ not-a-frame: `with` does not take a runtime int32 | it takes T.Kernel, T.Scope, T.If, T.Then or T.Else
                pass


def failed_assertion():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            assert A.shape[0] == 17, "wrong size"
          # ^ assertion: `A.shape[0] == 17` does not hold: wrong size


def runtime_assertion():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            assert cid == 0
          # ^ unsupported-syntax: `assert` of a runtime condition is not supported | write T.device_assert(cid == 0, 'cid == 0'), which is checked where the kernel runs


def ellipsis_index():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[...] = 1
            # ^ unsupported-syntax: `...` is not supported in a kernel | write one `:` per dimension


def double_star_call():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            T.barrier_all(**[])
            #               ^ unsupported-syntax: `**` does not take a Python list | pass a dict with names as keys


def constant_while():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            while True:
            #     ^ loop-condition: the condition of `while` is the Python number True, expected a runtime condition | a loop with a known count is `for i in T.serial(n)`
                A[0] = 1


def return_in_a_loop():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.serial(4):
                if i == cid:
                    return
                  # ^ unsupported-syntax: `return` in a loop or a scope is not supported in a kernel | put the statements that it skips into an `else`; `break` leaves a loop
                A[i] = 1
